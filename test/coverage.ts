/**
 * Loaded before each test file whose coverage is counted: a program that a test starts, and perhaps kills, must not
 * leave half a file behind, with which none of the others could be read. Its calls are not counted, so it may take its
 * code from the cache.
 */

delete process.env["NODE_V8_COVERAGE"];
delete process.env["NODE_DISABLE_COMPILE_CACHE"];
