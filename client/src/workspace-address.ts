/** The name of a workspace, and its tenant. */
export interface Address {
  name: string;
  tenant?: string;
}
