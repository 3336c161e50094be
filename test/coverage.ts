/**
 * Loaded before each test file whose coverage is counted: a program that a test starts, and perhaps kills, must not
 * leave half a file behind, with which none of the others could be read.
 */

delete process.env["NODE_V8_COVERAGE"];
