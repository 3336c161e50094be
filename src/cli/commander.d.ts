/** Types of Commander that infer flags and arguments from the options and arguments of a command. */

declare module "commander" {
  export * from "@commander-js/extra-typings";
}
