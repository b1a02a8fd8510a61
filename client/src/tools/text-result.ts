import type { ToolResult } from '../types.ts';

/** The result of a tool as text. */
export interface TextResult {
  readonly text: string;
  readonly isError: boolean;
}

/** Converts the result of a tool to text. */
export function toText({ content, isError = false }: ToolResult): TextResult {
  return { text: content.map(({ text }) => text).join('\n'), isError };
}
