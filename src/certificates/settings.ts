/** The certificate flags of `hookpolicy run`. */

export const CERT_MANAGEMENT = ["Self", "Files"] as const;

/** The files of the serving certificate and its key, which is in the same directory. */
export interface CertificateFiles {
  readonly webhookCertDir: string;
  readonly webhookCertName: string;
  readonly webhookKeyName: string;
}

export interface CertificateSettings extends CertificateFiles {
  readonly webhookConfiguration: string;
  readonly certManagement: (typeof CERT_MANAGEMENT)[number];
  readonly webhookServiceName: string;
  readonly webhookSecretName: string;
  /** Absent: hooks are answered for every caller. */
  readonly clients?: ClientSettings;
  /** Absent: reviews are answered for every caller. */
  readonly admissionClients?: ClientSettings;
  /** Namespace of the operator's own objects; absent: that of the Pod. */
  readonly namespace?: string;
}

export interface ClientSettings {
  readonly caFile: string;
  /** Accepted common names; empty: every certificate of that authority is accepted. */
  readonly names: readonly string[];
}
