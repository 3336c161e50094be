/** The certificate flags of `hookpolicy run`. */

export const CERT_MANAGEMENT = ["Self", "Files"] as const;
export type CertManagement = (typeof CERT_MANAGEMENT)[number];

export interface CertificateSettings {
  readonly webhookCertDir: string;
  readonly webhookCertName: string;
  readonly webhookKeyName: string;
  readonly webhookConfiguration: string;
  readonly certManagement: CertManagement;
  readonly webhookServiceName: string;
  readonly webhookSecretName: string;
  /** Absent: hooks are answered for every caller. */
  readonly clients?: ClientSettings;
  /** Absent: reviews are answered for every caller. */
  readonly admissionClients?: ClientSettings;
  /** Namespace of the operator's own objects. Absent: the Pod's. */
  readonly namespace?: string;
}

export interface ClientSettings {
  readonly caFile: string;
  /** Accepted common names; empty: every certificate of that authority is accepted. */
  readonly names: readonly string[];
}
