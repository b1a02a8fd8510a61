import type { Options } from '../operations.ts';
import type { ToolDefinition, ToolResult } from '../types.ts';
import type { ModelTools } from './model-tools.ts';
import { wordsOf } from './words.ts';

/** A tool, as `tool()` of the AI SDK makes it. */
export interface AiSdkTool<Schema> {
  readonly title: string;
  readonly description: string;
  readonly inputSchema: Schema;
  /** The result is kept whole; what the model reads is its text. */
  readonly execute: (
    input: Options,
    options?: { abortSignal?: AbortSignal | undefined },
  ) => Promise<ToolResult>;
  readonly toModelOutput: (call: { output: ToolResult }) => { type: 'text' | 'error-text'; value: string };
}

/** Tools by their names. */
export type AiSdkTools<Schema> = Record<string, AiSdkTool<Schema>>;

/** `jsonSchema` of the AI SDK, which this package does without. */
export type JsonSchema<Schema> = (schema: ToolDefinition['inputSchema']) => Schema;

/** The tools in the form of the AI SDK. A call that fails throws, which the AI SDK tells the model. */
export function aiSdkTools<Schema>(toolset: ModelTools, jsonSchema: JsonSchema<Schema>): AiSdkTools<Schema> {
  const tools = toolset.definitions.map(({ name, title, description, inputSchema }) => {
    const tool: AiSdkTool<Schema> = {
      title,
      description,
      inputSchema: jsonSchema(inputSchema),
      execute: (input, options) => toolset.callTool(name, input, { signal: options?.abortSignal }),
      toModelOutput: ({ output }) => {
        const { text, isError } = wordsOf(output);
        return { type: isError ? 'error-text' : 'text', value: text };
      },
    };
    return [name, tool] as const;
  });
  return Object.fromEntries(tools);
}
