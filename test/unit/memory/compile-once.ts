/** For tests that start thousands of operators with the same few policies: a third of their time would go to compiling. */

import { DecisionStore } from "../../../src/memory/decision-store.ts";
import type { CompiledPolicy } from "../../../src/policy/policy.ts";

/** Decision stores of this thread compile equal policies once, until the returned function is called. */
export function compileOnce(): () => void {
  const compiled = new Map<string, CompiledPolicy>();
  // oxlint-disable-next-line typescript/unbound-method -- called with the `this` of its caller
  const { compile } = DecisionStore.prototype;
  DecisionStore.prototype.compile = function* once(key, object) {
    const { metadata, ...rest } = object;
    const text = JSON.stringify({ key, ...rest, metadata: { ...metadata, resourceVersion: undefined } });
    const policy = compiled.get(text) ?? (yield* compile.call(this, key, object));
    compiled.set(text, policy);
    return policy;
  };
  return () => {
    DecisionStore.prototype.compile = compile;
  };
}
