/** What containers of both kinds, sandboxes and their tunnels, have in common: an entry in Docker's list. */
import { randomUUID } from 'node:crypto';

/** How a container was asked for. */
export interface Spec {
  name: string;
  image: string;
  labels: Record<string, string>;
  env: string[];
}

/** A container as the Docker API knows it, whether or not it runs. */
export abstract class Listed {
  readonly id = randomUUID();
  readonly spec: Spec;
  state: 'created' | 'running' | 'exited' = 'created';
  exitCode = 0;
  /** Resolves when the container has ended and nothing of it is left. */
  readonly ended: Promise<void>;
  protected readonly end: () => void;

  constructor(spec: Spec) {
    this.spec = spec;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.end = resolve;
  }

  /** Resolves when the container serves. */
  abstract start(): Promise<void>;

  /** Resolves when the container has ended; at once when it does not run. */
  abstract kill(signal?: string): Promise<void>;
}
