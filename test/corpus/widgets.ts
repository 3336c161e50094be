/** A definition with what schemas of CustomResourceDefinitions can have, and objects of its kind. */

const text = { type: "string" };

export const WIDGETS = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.template-schemas.example.com" },
  spec: {
    group: "template-schemas.example.com",
    scope: "Namespaced",
    names: { kind: "Widget", plural: "widgets", singular: "widget", listKind: "WidgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            required: ["spec"],
            properties: {
              apiVersion: text,
              kind: text,
              metadata: { type: "object" },
              spec: {
                type: "object",
                required: ["size", "mode"],
                properties: {
                  size: { type: "integer", format: "int32", minimum: 0, exclusiveMinimum: true },
                  mode: { type: "string", enum: ["Fast", "Slow"], default: "Fast" },
                  port: {
                    anyOf: [{ type: "integer" }, { type: "string" }],
                    pattern: "^[a-z]+$",
                    "x-kubernetes-int-or-string": true,
                  },
                  free: {
                    type: "object",
                    "x-kubernetes-preserve-unknown-fields": true,
                    properties: { name: text },
                  },
                  marks: { type: "object", additionalProperties: text, maxProperties: 2 },
                  code: { ...text, pattern: "^[0-9]+$" },
                  maybe: { type: "string", nullable: true },
                  whole: {
                    type: "object",
                    "x-kubernetes-embedded-resource": true,
                    "x-kubernetes-preserve-unknown-fields": true,
                  },
                  parts: {
                    type: "array",
                    minItems: 1,
                    items: {
                      type: "object",
                      required: ["name"],
                      properties: { name: { ...text, maxLength: 5 }, weight: { type: "number" } },
                      anyOf: [{ required: ["weight"] }, { properties: { name: { pattern: "^a" } } }],
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

export const WIDGET = { apiVersion: "template-schemas.example.com/v1", kind: "Widget" };

/** Specs, and where each is wrong: a path below the object, and a part of the message. */
export const SPECS: Readonly<Record<string, readonly [spec: unknown, path?: string, says?: RegExp]>> = {
  "the least": [{ size: 1 }],
  "all of it": [
    {
      size: 1,
      mode: "Slow",
      port: "http",
      free: { name: "a", more: [1] },
      marks: { "a.b/c": "d" },
      whole: { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec: {} },
      parts: [{ name: "b", weight: 1.5 }, { name: "a" }],
    },
  ],
  "a number where a text can be, too": [{ size: 1, port: 80 }],
  "a null, which is no value": [{ size: 1, maybe: null, mode: null }],
  "no spec": [undefined, "spec", /required field is missing/],
  "no size": [{}, "spec.size", /required field is missing/],
  "an unknown field": [{ size: 1, prot: 1 }, "spec.prot", /unknown field "prot", .*; did you mean "port"\?/],
  "an unknown field in a list": [
    { size: 1, parts: [{ name: "a", nam: "a" }] },
    "spec.parts[0].nam",
    /did you mean/,
  ],
  "a text as a number": [{ size: "1" }, "spec.size", /found "1", expected an integer/],
  "a number as a text": [{ size: 1, mode: 1 }, "spec.mode", /expected one of Fast, Slow/],
  "a number as a text that may be null": [{ size: 1, maybe: 1 }, "spec.maybe", /expected a string/],
  "a wrong word": [{ size: 1, mode: "fast" }, "spec.mode", /did you mean "Fast"/],
  "the least that is too little": [{ size: 0 }, "spec.size", /must be > 0/],
  "neither a number nor a text": [
    { size: 1, port: true },
    "spec.port",
    /expected a whole number or a text that/,
  ],
  "a text of the wrong form": [
    { size: 1, port: "80" },
    "spec.port",
    /expected a whole number or a text that matches \^/,
  ],
  "a number as a text of some form": [
    { size: 1, code: 12 },
    "spec.code",
    /expected a text that matches .*: write it in quotes$/,
  ],
  "a known field of an open object": [{ size: 1, free: { name: 1 } }, "spec.free.name", /expected a string/],
  "a value of a map": [{ size: 1, marks: { "a.b/c": 1 } }, "spec.marks[a.b/c]", /expected a string/],
  "too many entries": [{ size: 1, marks: { a: "", b: "", c: "" } }, "spec.marks", /too many entries/],
  "an empty list": [{ size: 1, parts: [] }, "spec.parts", /too few items/],
  "a null in a list": [{ size: 1, parts: [null] }, "spec.parts[0]", /found null/],
  "none of several forms": [{ size: 1, parts: [{ name: "b" }] }, "spec.parts[0]", /does not fit any form/],
};
