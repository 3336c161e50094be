/** What the flags of `hookpolicy run` say about certificates. */

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
  /** Absent: hooks are answered whoever calls. */
  readonly clients?: ClientSettings;
  /** Absent: reviews are answered whoever calls. */
  readonly admissionClients?: ClientSettings;
  /** Of the operator's own objects. Absent: the Pod's. */
  readonly namespace?: string;
}

export interface ClientSettings {
  readonly caFile: string;
  /** Common names; none: every certificate of that authority is good. */
  readonly names: readonly string[];
}
