/** The common part of both kinds of containers, sandboxes and tunnels: an entry in the list of the Docker API. */
import { randomUUID } from 'node:crypto';

/** The request that created a container. */
export interface Spec {
  name: string;
  image: string;
  labels: Record<string, string>;
  env: string[];
  /** The program that it runs; empty for that of its image. */
  entrypoint: string[];
}

/** A container as the Docker API lists it, running or not. */
export abstract class BaseContainer {
  readonly id = randomUUID();
  readonly spec: Spec;
  state: 'created' | 'running' | 'exited' = 'created';
  exitCode = 0;
  /** Resolves when the container has ended and its files are removed. */
  readonly ended: Promise<void>;
  protected readonly end: () => void;

  constructor(spec: Spec) {
    this.spec = spec;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.end = resolve;
  }

  /** Starts the container. Resolves when it accepts calls. */
  abstract start(): Promise<void>;

  /** Ends the container. Resolves when it has ended, or at once if it does not run. */
  abstract kill(signal?: NodeJS.Signals): Promise<void>;
}
