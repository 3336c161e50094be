/** A process whose wall clock is wrong. */

/** Flags of Node.js: by how many milliseconds the clock is ahead. SIGUSR2 sets it to the next of them, and to the first again. */
export function shiftedClock(...offsets: readonly number[]): readonly string[] {
  const script = `
    const offsets = ${JSON.stringify(offsets)};
    const Real = Date;
    globalThis.Date = class Date extends Real {
      constructor(...given) { given.length === 0 ? super(Date.now()) : super(...given); }
      static now() { return Real.now() + offsets[0]; }
    };
    process.on("SIGUSR2", () => offsets.push(offsets.shift()));
  `;
  return ["--import", `data:text/javascript,${encodeURIComponent(script)}`];
}
