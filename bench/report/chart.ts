/** A plot as SVG, without a browser; the same bytes each time. */

import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import type { Axis, Plot } from "../result.ts";

/** Okabe and Ito's colours, which people tell apart who see colours differently; the shapes differ, too. */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
const SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left"];
/** More positions than these are for Vega to choose. */
const MAX_TICKS = 8;

export async function renderChart(plot: Plot): Promise<string> {
  const view = new View(parse(compile(chart(plot)).spec), { renderer: "none" });
  try {
    return `${await view.toSVG()}\n`;
  } finally {
    view.finalize();
  }
}

function chart({ title, x, y, series }: Plot): TopLevelSpec {
  const values = series.flatMap(({ name, points }) =>
    points.map(([at, value]) => ({ name, x: at, y: value })),
  );
  const names = series.map(({ name }) => name);
  const positions = [...new Set(values.map((point) => point.x))].toSorted((a, b) => a - b);
  const isSparse = x.scale === "log" && positions.length <= MAX_TICKS;
  const legend = { title: null, orient: "bottom" as const, columns: 2, labelLimit: 400 };
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    // A sheet of its own, so that it reads the same on a dark page.
    background: "white",
    padding: 12,
    width: 640,
    height: 320,
    title: { text: title, anchor: "start", fontSize: 15 },
    data: { values },
    mark: { type: "line", point: { size: 60, filled: true } },
    encoding: {
      x: { ...position("x", x), axis: { ...TICKS, title: x.title, ...(isSparse && { values: positions }) } },
      y: { ...position("y", y), axis: { ...TICKS, title: y.title } },
      color: { field: "name", type: "nominal", scale: { domain: names, range: COLOURS }, legend },
      shape: { field: "name", type: "nominal", scale: { domain: names, range: SHAPES }, legend },
    },
    config: {
      font: "sans-serif",
      axis: { labelFontSize: 12, titleFontSize: 13 },
      legend: { labelFontSize: 13 },
    },
  };
}

const TICKS = { format: ",~f" } as const;

function position(field: "x" | "y", { scale = "linear" }: Axis) {
  return { field, type: "quantitative", scale: { type: scale, nice: field === "y" } } as const;
}
