/** An object whose string values can have expressions: parsed once, and rendered for a Cluster. */

import type { Fields } from "../../lib/fields.ts";
import type { ExpressionVariables } from "../cel/view.ts";

export type Rendered =
  | { readonly ok: true; readonly value: Fields }
  /** `exhausted`: the steps ran out. */
  | { readonly ok: false; readonly problem: string; readonly exhausted?: true };

export interface Template {
  /** Never throws. */
  render(variables: ExpressionVariables): Rendered;
}
