/** The files of the page, which release/build.ts builds from src/page and inserts here. */

import { CommandError, FAILED } from "../command.ts";

export interface PageFiles {
  readonly script: string;
  readonly style: string;
}

declare const HOOKPOLICY_PAGE: PageFiles | undefined;

export function pageFiles(): PageFiles {
  if (typeof HOOKPOLICY_PAGE === "undefined")
    throw new CommandError(
      FAILED,
      "the page is a part of the built program only: run 'make build', then dist/main.js",
    );
  return HOOKPOLICY_PAGE;
}

export const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>HookPolicy</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="page.css">
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript. The same is printed by: hookpolicy get -A</noscript>
<script src="page.js"></script>
</body>
</html>
`;
