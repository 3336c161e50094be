/** The page of `hookpolicy ui`. */

import { render } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useAnswer } from "./ask.ts";
import { ClusterPage } from "./cluster.tsx";
import { ClustersPage } from "./clusters.tsx";
import { HeldPage } from "./held.tsx";
import { clustersIn } from "./held-rows.ts";
import { Keys } from "./keys.tsx";
import { connectLive, type LiveFleet, NOT_LIVE } from "./live.ts";
import { RolloutsPage } from "./rollouts.tsx";
import { PAGES, readRoute, type Route } from "./route.ts";
import { WhatIfPage } from "./what-if.tsx";
import { WindowsPage } from "./windows.tsx";
import type { About } from "./wire.ts";

function App() {
  const [showsKeys, setShowsKeys] = useState(false);
  const route = useRoute(() => setShowsKeys(true));
  const [live, setLive] = useState(NOT_LIVE);
  useEffect(() => connectLive(setLive), []);
  const { value: about = UNKNOWN } = useAnswer<About>("about", {});
  useEffect(() => {
    document.title = `${titleOf(route)} · HookPolicy`;
  }, [route.page, route.name]);
  return (
    <>
      <Bar route={route} live={live} server={about.server} />
      {showsKeys && <Keys onClose={() => setShowsKeys(false)} />}
      <main>
        <Content route={route} live={live} about={about} />
      </main>
    </>
  );
}

function titleOf({ page, name }: Route): string {
  if (page === "cluster") return name;
  return PAGES.find((each) => each.page === page)?.title ?? "";
}

const UNKNOWN: About = { program: "hookpolicy", connection: "", server: "", hooks: [] };

function Content({ route, live, about }: { route: Route; live: LiveFleet; about: About }) {
  const { hooks } = about;
  switch (route.page) {
    case "held":
      return <HeldPage live={live} params={route.params} />;
    case "clusters":
      return <ClustersPage live={live} params={route.params} />;
    case "cluster":
      return (
        <ClusterPage key={route.name} name={route.name} params={route.params} live={live} hooks={hooks} />
      );
    case "windows":
      return <WindowsPage params={route.params} />;
    case "rollouts":
      return <RolloutsPage live={live} />;
    case "whatif":
      return <WhatIfPage {...about} />;
  }
}

function Bar({ route, live, server }: { route: Route; live: LiveFleet; server: string }) {
  const current = route.page === "cluster" ? "clusters" : route.page;
  const problem = live.connected ? live.lost : "the connection to 'hookpolicy ui' is lost; trying again";
  return (
    <header class="topbar">
      <a class="brand" href="#/held">
        <svg viewBox="0 0 24 24" aria-hidden="true">
          <path d="M12 2 4 5.5v6c0 5 3.4 8.7 8 10.5 4.6-1.8 8-5.5 8-10.5v-6z" />
          <path class="mark" d="M9 8.5v7M15 8.5v7" />
        </svg>
        HookPolicy
      </a>
      <nav aria-label="Pages">
        {PAGES.map(({ page, title }, index) => (
          <a
            key={page}
            href={`#/${page}`}
            aria-current={page === current ? "page" : undefined}
            title={`key ${index + 1}`}
          >
            {title}
            {page === "held" && live.rows.length > 0 && (
              <span class="count">
                {clustersIn(live.rows)}
                {live.omits === true && "+"}
              </span>
            )}
          </a>
        ))}
      </nav>
      <span class={`live ${problem === undefined ? "free" : "held"}`} role="status" title={problem ?? server}>
        <i aria-hidden="true" />
        <span>{problem === undefined ? `live · ${server.replace(/^https?:\/\//, "")}` : problem}</span>
      </span>
    </header>
  );
}

function useRoute(onHelp: () => void): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = (): void => setHash(location.hash);
    const typed = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const page = PAGES[Number(event.key) - 1];
      if (page !== undefined) location.hash = `#/${page.page}`;
      if (event.key === "?") onHelp();
      if (event.key === "/") {
        event.preventDefault();
        document.querySelector<HTMLElement>("[data-search]")?.focus();
      }
    };
    addEventListener("hashchange", changed);
    addEventListener("keydown", typed);
    return () => {
      removeEventListener("hashchange", changed);
      removeEventListener("keydown", typed);
    };
  }, []);
  return useMemo(() => readRoute(hash), [hash]);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, select, textarea");
}

const root = document.getElementById("page");
if (root !== null) render(<App />, root);
