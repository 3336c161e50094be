/** What is drawn as a tree, on a terminal and on the page. */

export interface Branch {
  readonly text: string;
  /** For the page, which marks it by colour. */
  readonly verdict?: string;
  readonly details?: BranchDetails;
  readonly branches?: readonly Branch[];
}

export interface Detail {
  readonly label: string;
  readonly text: string;
  /** Those of the text, where a terminal must not take every space for the end of one. */
  readonly words?: readonly string[];
  /** Never wrapped, so that it can be copied as one line. */
  readonly whole?: boolean;
}

/** What is false is left out. */
export type BranchDetails = readonly (Detail | false)[];
