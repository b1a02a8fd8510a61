/** A step that the caller can run. */
export type Step =
  | { do: 'rpc'; method: string; options: unknown; signal?: boolean }
  | {
      do: 'fetch';
      path: string;
      init: { method?: string; headers?: Record<string, string>; body?: string };
      signal?: boolean;
    }
  | { do: 'execStream'; options: object; cancel?: boolean }
  | { do: 'writeBytes'; options: object; length: number; asStream?: boolean }
  | { do: 'abort' }
  | { do: 'sandbox' | 'container'; id: string; method: string; args: unknown[] }
  | { do: 'session'; id: string; session: string; command: string }
  | { do: 'objectId'; id: string }
  | { do: 'objects' }
  | { do: 'read' | 'delete'; key: string }
  | { do: 'write'; key: string; text: string }
  | { do: 'copy'; from: string; to: string }
  | { do: 'all'; steps: Step[] };

/** The result of a step. An error has its own properties, its name and its message. */
export type Answer = { value: unknown; error?: never } | { value?: never; error: Thrown };

/** An error as it arrives over RPC. */
export interface Thrown {
  name: string;
  message: string;
  code?: string;
  kind?: string;
  remediation?: string;
  retryable?: boolean;
  correlationId?: string;
  cause?: { code?: string; name: string; message: string };
}
