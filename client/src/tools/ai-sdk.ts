import { kindOf } from '../arguments.ts';
import { invalidArgument } from '../failures.ts';
import type { Options } from '../operations.ts';
import type { ToolDefinition, ToolResult } from '../types.ts';
import type { ModelTools } from './model-tools.ts';
import { toText } from './text-result.ts';

/** A tool, in the format of `tool()` of the AI SDK. */
export interface AiSdkTool<Schema> {
  readonly title: string;
  readonly description: string;
  readonly inputSchema: Schema;
  /** Calls the tool. The application gets the whole result, and the model its text. */
  readonly execute: (
    input: Options,
    options?: { abortSignal?: AbortSignal | undefined },
  ) => Promise<ToolResult>;
  readonly toModelOutput: (call: { output: ToolResult }) => { type: 'text' | 'error-text'; value: string };
}

/** The tools by their names. */
export type AiSdkTools<Schema> = Record<string, AiSdkTool<Schema>>;

/** The type of `jsonSchema` of the AI SDK, on which this package does not depend. */
export type JsonSchema<Schema> = (schema: ToolDefinition['inputSchema']) => Schema;

/** Returns the tools in the format of the AI SDK. A failed call throws, and the AI SDK passes the error to the model. */
export function aiSdkTools<Schema>(toolset: ModelTools, jsonSchema: JsonSchema<Schema>): AiSdkTools<Schema> {
  if (typeof jsonSchema !== 'function')
    throw invalidArgument(
      `forAiSdk() needs the function \`jsonSchema\` of the AI SDK, got ${kindOf(jsonSchema)}.`,
      'Import it from the package `ai`: `toolset.forAiSdk(jsonSchema)`.',
    );
  const tools = toolset.definitions.map(({ name, title, description, inputSchema }) => {
    const tool: AiSdkTool<Schema> = {
      title,
      description,
      inputSchema: jsonSchema(inputSchema),
      execute: (input, options) => toolset.callTool(name, input, { signal: options?.abortSignal }),
      toModelOutput: ({ output }) => {
        const { text, isError } = toText(output);
        return { type: isError ? 'error-text' : 'text', value: text };
      },
    };
    return [name, tool] as const;
  });
  return Object.fromEntries(tools);
}
