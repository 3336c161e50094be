/** A note for a call that Cluster API never makes. */

export const MINOR_STEPS =
  "Cluster API upgrades a control plane by one minor version at a time, and calls BeforeControlPlaneUpgrade for each: ask about one step with --from-version and --to-version";
