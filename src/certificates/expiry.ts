/** Warns once when a certificate should have been renewed, and once when it has expired. */

import { type Lifetime, warningOf } from "./lifetime.ts";

export interface CertificateLifetime extends Lifetime {
  /** "serving", for "The serving certificate" in messages. */
  readonly name: string;
}

export interface ExpiryWarning extends CertificateLifetime {
  readonly ended: boolean;
}

export class ExpiryAlarm {
  readonly #told = new Set<string>();

  /** Returns the warnings that have not been given yet. */
  look(certificates: readonly CertificateLifetime[], now: Date): ExpiryWarning[] {
    return certificates
      .filter((each) => warningOf(each) <= now)
      .map((each) => ({ ...each, ended: each.notAfter <= now }))
      .filter((warning) => this.#isNew(warning));
  }

  #isNew({ name, notAfter, ended }: ExpiryWarning): boolean {
    const key = `${name} ${notAfter.toISOString()} ${ended}`;
    if (this.#told.has(key)) return false;
    this.#told.add(key);
    return true;
  }
}
