// What the search finds: operations, fields and error codes.

import { COMMANDS } from './commands.ts';
import { codesOf, optionsOf, routesOf, type Document } from './document.ts';
import { fieldsOf } from './schema.ts';
import { typesOfRoutes } from './types.ts';

/** An operation, a type, an error code, or a part of a guide. */
export interface Target {
  kind: 'operation' | 'type' | 'error' | 'guide';
  name: string;
  text: string;
  /** The address. That of a field has its name after a dot. */
  url: string;
  fields: string[];
  /** Other words for it, which its description does not contain. */
  words?: string;
}

/** A target without what follows from the rest, as the script of the pages has it. */
export type CompactTarget = Omit<Target, 'url' | 'fields'> & Partial<Target>;

/** Words that people search for. */
const OTHER_WORDS: Record<string, string> = {
  restore: 'undo revert recover',
  exec: 'shell terminal bash process',
  lineage: 'history tree',
  'workspaces/fork': 'copy clone',
  'workspaces/update': 'undo revert rollback settings',
  'workspaces/turnEnded': 'autosave save',
  'checkpoints/restore': 'undo revert',
  'files/read': 'open view cat',
  'files/write': 'upload save edit',
  'files/move': 'rename',
  'files/remove': 'delete rm',
  'tools/list': 'withhold deny forbid',
  'tokens/create': 'key password login',
};

/** Returns the address of an error code. */
export function urlOfError(code: string): string {
  return `/docs/errors#${code}`;
}

/** Returns the words of the command that calls an operation: `snapshotter workspace start`. */
function commandOf(operation: string): string | undefined {
  return COMMANDS[operation]?.match(/^snapshotter( [a-z-]+\b(?!\d)){1,2}/)?.[0];
}

/** Leaves out what follows from the rest of targets. */
export function compactIndex(targets: readonly Target[]): CompactTarget[] {
  return targets.map(({ url, fields, ...target }) => ({
    ...target,
    ...(target.kind === 'error' ? {} : { url }),
    ...(fields.length > 0 && { fields }),
  }));
}

/** Returns the targets of {@link compactIndex}. */
export function expandIndex(targets: readonly CompactTarget[]): Target[] {
  return targets.map((target) => ({ url: urlOfError(target.name), fields: [], ...target }));
}

/** Returns the targets of the search. */
export function searchIndex(document: Document): Target[] {
  const { schemas } = document.components;
  const operations = document.tags.flatMap(({ name: tag }) =>
    routesOf(document, tag).map((place): Target => {
      const options = optionsOf(place);
      const fields = options ? fieldsOf(document, options.schema).map(({ name }) => name) : [];
      const url = `/docs/${tag}#${place.id}`;
      const target = { kind: 'operation', name: place.name, text: place.route.summary, url, fields } as const;
      const words = [OTHER_WORDS[place.name], commandOf(place.name)].filter((text) => text !== undefined);
      return words.length === 0 ? target : { ...target, words: words.join(' ') };
    }),
  );
  const types = new Map<string, Target>();
  for (const { name: tag } of document.tags)
    for (const name of typesOfRoutes(document, routesOf(document, tag))) {
      if (types.has(name)) continue;
      const fields = fieldsOf(document, schemas[name] ?? {}).map(({ name }) => name);
      types.set(name, { kind: 'type', name, text: 'Type', url: `/docs/${tag}#type-${name}`, fields });
    }
  const errors = codesOf(document).map(({ code, meaning, status }): Target => ({
    kind: 'error',
    name: code,
    text: meaning,
    url: urlOfError(code),
    fields: [],
    words: status,
  }));
  return [...operations, ...types.values(), ...errors];
}
