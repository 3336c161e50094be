/** Both in PEM; the certificate may be followed by its chain. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}
