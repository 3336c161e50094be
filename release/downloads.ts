/** Where package managers for the command line find the single executables of a release: krew and Homebrew. */

import { stringify } from "yaml";

/** One archive with the program for one platform. */
export interface Download {
  /** As Node.js writes it: "linux-x64", "darwin-arm64", "win32-x64". */
  readonly platform: string;
  readonly url: string;
  readonly sha256: string;
}

export interface Release {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly homepage: string;
  readonly downloads: readonly Download[];
}

const SUMMARY = "Explain, test and approve Cluster API lifecycle hooks";

const DESCRIPTION = `\
HookPolicy holds creations, upgrades and deletions of Cluster API Clusters until
the gates of policies are met. This plugin shows why a Cluster is held and how to
release it, and checks, tests and simulates policies before they are applied.
`;

/** krew links only kubectl-NAME, and kubectl asks a program of another name for completions. */
const caveats = (name: string): string => `\
For kubectl's completion of "kubectl ${name}", link the program a second time:

  ln -s "$(command -v kubectl-${name})" "$(dirname "$(command -v kubectl-${name})")/kubectl_complete-${name}"
`;

interface Platform {
  readonly os: "linux" | "darwin" | "windows";
  readonly arch: "amd64" | "arm64";
}

/** As Go names it, and with it krew and Homebrew. */
function platformOf({ platform }: Download): Platform {
  const [, os, arch] = /^(linux|darwin|win32)-(x64|arm64)$/.exec(platform) ?? [];
  if (os === undefined || arch === undefined)
    throw new Error(`platform ${platform}: expected one such as linux-x64, darwin-arm64 or win32-x64`);
  return {
    os: os === "win32" ? "windows" : os === "darwin" ? "darwin" : "linux",
    arch: arch === "x64" ? "amd64" : "arm64",
  };
}

/** The name of the program in its archive. */
export function programOf(name: string, platform: string): string {
  return platform.startsWith("win32-") ? `${name}.exe` : name;
}

/** The manifest of a kubectl plugin, as krew's index has it in plugins/. */
export function krewManifest({ name, version, homepage, downloads }: Release): string {
  const platforms = downloads.map((download) => ({
    selector: { matchLabels: platformOf(download) },
    uri: download.url,
    sha256: download.sha256,
    bin: programOf(name, download.platform),
  }));
  const spec = {
    version: `v${version}`,
    homepage,
    shortDescription: SUMMARY,
    description: DESCRIPTION,
    caveats: caveats(name),
    platforms,
  };
  return stringify(
    {
      apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
      kind: "Plugin",
      metadata: { name },
      spec,
    },
    { lineWidth: 0 },
  );
}

/** The formula of a Homebrew tap; Homebrew is for macOS and Linux. */
export function homebrewFormula({ name, version, license, homepage, downloads }: Release): string {
  const blocks = (["macos", "linux"] as const).flatMap((system) => {
    const os = system === "macos" ? "darwin" : "linux";
    const own = downloads.filter((download) => platformOf(download).os === os);
    return own.length === 0
      ? [`  depends_on :${system === "macos" ? "linux" : "macos"}`, ""]
      : [`  on_${system} do`, ...own.flatMap(cpuBlock), "  end", ""];
  });
  return `class ${name.charAt(0).toUpperCase()}${name.slice(1)} < Formula
  desc "${SUMMARY}"
  homepage "${homepage}"
  version "${version}"
  license "${license}"

${blocks.join("\n")}
  def install
    bin.install "${name}"
    bin.install_symlink "${name}" => "kubectl-${name}"
    bin.install_symlink "${name}" => "kubectl_complete-${name}"
    generate_completions_from_executable(bin/"${name}", "completion", shells: [:bash, :zsh, :fish])
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/${name} --version")
  end
end
`;
}

function cpuBlock(download: Download): string[] {
  const cpu = platformOf(download).arch === "amd64" ? "intel" : "arm";
  return [`    on_${cpu} do`, `      url "${download.url}"`, `      sha256 "${download.sha256}"`, "    end"];
}
