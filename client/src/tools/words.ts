import type { ToolResult } from '../types.ts';

/** What a tool came to, in words. */
export interface Words {
  readonly text: string;
  readonly isError: boolean;
}

/** A result in words. */
export function wordsOf({ content, isError = false }: ToolResult): Words {
  return { text: content.map(({ text }) => text).join('\n'), isError };
}
