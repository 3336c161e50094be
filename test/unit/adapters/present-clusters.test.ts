import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { Cluster, ObjectMeta } from "../../../src/api/meta.ts";
import { presentMetadata, type PresentClustersOptions } from "../../../src/adapters/present-clusters.ts";
import { cluster } from "../builders.ts";

/** Memory at some version, and an API server whose Clusters are at another. */
class Lab {
  version: string | undefined;
  readonly requests: string[] = [];
  #moved = Promise.withResolvers<void>();
  readonly present: PresentClustersOptions;
  listed: () => Promise<readonly ObjectMeta[]> = async () =>
    await Promise.resolve([named("listed").metadata]);

  constructor(memory: string | undefined, present: () => string, patienceMs = 0) {
    this.version = memory;
    this.present = {
      memory: () => this,
      version: async () => {
        this.requests.push("version");
        return await Promise.resolve(present());
      },
      list: async () => {
        this.requests.push("list");
        return await this.listed();
      },
      patienceMs,
    };
  }

  async moved(): Promise<void> {
    await this.#moved.promise;
  }

  list(): Cluster[] {
    return [named(`known at ${this.version}`)];
  }

  move(version: string | undefined): void {
    this.version = version;
    this.#moved.resolve();
    this.#moved = Promise.withResolvers();
  }

  async names(): Promise<string[]> {
    return (await presentMetadata(this.present)).map(({ name }) => name);
  }
}

function named(name: string): Cluster {
  const { metadata, ...rest } = cluster();
  return { ...rest, metadata: { ...metadata, name } };
}

/** Longer than any test. */
const PATIENT = 600_000;

describe("memory is used", () => {
  test("where it is as new as the read", async () => {
    const lab = new Lab("100", () => "100");
    assert.deepEqual(await lab.names(), ["known at 100"]);
    assert.deepEqual(lab.requests, ["version"]);
  });

  test("where it has become as new while the read was under way", async () => {
    const lab: Lab = new Lab("100", () => {
      lab.move("102");
      return "101";
    });
    assert.deepEqual(await lab.names(), ["known at 102"]);
  });

  test("as soon as it has caught up, and not a change before", async () => {
    const lab = new Lab("100", () => "102", PATIENT);
    const names = lab.names();
    await settled();
    lab.move("101");
    await settled();
    lab.move("102");
    assert.deepEqual(await names, ["known at 102"]);
    assert.deepEqual(lab.requests, ["version"]);
  });

  test("where it catches up before the list has ended", async () => {
    const lab = new Lab("9", () => "10", 1);
    const listing = Promise.withResolvers<void>();
    lab.listed = async () => {
      listing.resolve();
      return await new Promise<never>(() => undefined);
    };
    const names = lab.names();
    await listing.promise;
    lab.move("10");
    assert.deepEqual(await names, ["known at 10"], "9 is before 10");
  });
});

describe("Clusters are listed", () => {
  test("where memory stays behind", async () => {
    const lab = new Lab("100", () => "101", 1);
    assert.deepEqual(await lab.names(), ["listed"]);
    assert.deepEqual(lab.requests, ["version", "list"]);
  });

  test("where it is not known what memory is the state of", async () => {
    assert.deepEqual(await new Lab(undefined, () => "100", PATIENT).names(), ["listed"]);
  });

  test("where it is lost meanwhile", async () => {
    const lab: Lab = new Lab("100", () => {
      lab.move(undefined);
      return "100";
    });
    assert.deepEqual(await lab.names(), ["listed"]);
  });

  test("where the API server is at an earlier version, because etcd was restored", async () => {
    assert.deepEqual(await new Lab("100", () => "99", PATIENT).names(), ["listed"]);
  });

  test("where versions are no numbers", async () => {
    assert.deepEqual(await new Lab("a", () => "a", PATIENT).names(), ["listed"]);
  });
});

test("an API server that does not answer is not taken for an empty fleet", async () => {
  const silent = new Lab("100", () => {
    throw new Error("no answer");
  });
  await assert.rejects(silent.names(), /no answer/);
  const lost = new Lab("100", () => "101");
  lost.listed = async () => await Promise.reject(new Error("no list"));
  await assert.rejects(lost.names(), /no list/);
});

async function settled(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}
