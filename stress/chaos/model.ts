// What is known in a round, as far as anything is while things break: files by their versions, and what was answered.

import type { SnapshotRef } from '../../client/src/index.ts';
import { Tree } from '../tree.ts';
import type { Intention } from './round.ts';
import { Turns } from './turns.ts';

/** A sandbox that somebody works in. */
export class Origin {
  readonly id: string;
  readonly turns = new Turns();
  /** Its files over time, the newest last. */
  readonly versions: Tree[] = [];
  /** Whether its container was killed, and with it its files. */
  isLost = false;
  /** Whether its files were written anew since: it is captured with `wake` from then on. */
  wasRevived = false;

  constructor(id: string) {
    this.id = id;
  }

  get tree(): Tree {
    return this.versions.at(-1) ?? new Tree();
  }
}

/** A snapshot that was reported. */
export interface Known {
  ref: SnapshotRef;
  /** What it may hold: the origin's files at any time from the first call to the answer. */
  trees: Tree[];
  /** Somebody has asked for its deletion. */
  mayBeGone: boolean;
  isGone: boolean;
  /** What it holds can't be told: it was captured by `wake`, and everything died meanwhile. */
  isWild: boolean;
}

/** A sandbox that somebody got. */
export interface Got {
  id: string;
  of: Known;
  /** When it was handed out. */
  at: number;
  /** What somebody has made of it who works in it. */
  place?: Origin;
}

/** A workspace with a name. Only one caller at a time does anything with it. */
export class Named {
  readonly name: string;
  readonly turns = new Turns();
  /** The value of its variable. */
  readonly secret: string;
  /** Its sandbox, as far as is known. */
  sandboxId = '';
  /** Whether it was handed out, and not stopped since, as far as is known. */
  isActive = false;
  /** Whether somebody has asked for its deletion. */
  mayBeGone = false;
  isGone = false;
  /** Whether its container was killed since it was known what it holds. */
  isLost = false;
  /** The snapshot of its last stop, and what that holds. */
  last: { id: string; tree: Tree } | undefined;
  /** What was asked for, and is not known to be done. */
  pending: Intention | undefined;
  #saved: Tree | undefined;
  #since: Tree[] = [];

  constructor(name: string, secret: string) {
    this.name = name;
    this.secret = secret;
  }

  /** Its newest files. */
  get tree(): Tree {
    return this.#since.at(-1) ?? this.#saved ?? new Tree();
  }

  /** What it may hold: its newest files, and where its container was killed, any since those that are safe. */
  get trees(): Tree[] {
    if (!this.isLost) return [this.tree];
    return [...(this.#saved ? [this.#saved] : []), ...this.#since];
  }

  /** Whether anything of it is safe. */
  get isSaved(): boolean {
    return this.#saved !== undefined;
  }

  /** It has these files from now on, in its container alone. */
  wrote(tree: Tree) {
    this.#since.push(tree);
  }

  /** It was seen to have these files. */
  holds(tree: Tree) {
    this.#since = [tree];
    this.isLost = false;
  }

  /** It was made from what another one held. */
  isMadeFrom(other: Named) {
    if (!other.isLost) return this.isSafe(other.tree);
    this.#saved = other.#saved;
    this.#since = [...other.#since];
    this.isLost = true;
  }

  /** These files are in a snapshot of it. */
  isSafe(tree: Tree) {
    this.#saved = tree;
    this.#since = [tree];
  }
}
