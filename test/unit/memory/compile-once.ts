/** For tests that start thousands of operators with the same few policies: a third of their time would go to compiling. */

import type { Steps } from "../../../src/lib/steps.ts";
import { Compiling } from "../../../src/memory/compiling.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import type { CompiledPolicy } from "../../../src/policy/policy.ts";

/** Decision stores of this thread compile equal policies once, until the returned function is called. */
export function compileOnce(): () => void {
  const compiled = new Map<string, CompiledPolicy>();
  function* compile(object: PolicyObject, steps: Steps<CompiledPolicy>): Steps<CompiledPolicy> {
    const { metadata, ...rest } = object;
    const key = JSON.stringify({ ...rest, metadata: { ...metadata, resourceVersion: undefined } });
    const policy = compiled.get(key) ?? (yield* steps);
    compiled.set(key, policy);
    return policy;
  }
  // oxlint-disable-next-line typescript/unbound-method -- called with the `this` of its caller
  const { begin } = Compiling.prototype;
  Compiling.prototype.begin = function once(key, object, steps) {
    begin.call(this, key, object, compile(object, steps));
  };
  return () => {
    Compiling.prototype.begin = begin;
  };
}
