import { asSnapshotterError } from '../recognize.ts';
import type { ToolOperations } from '../groups.ts';
import type { Control, Options } from '../operations.ts';
import type { ToolDefinition, ToolResult, Toolset } from '../types.ts';
import { aiSdkTools, type AiSdkTools, type JsonSchema } from './ai-sdk.ts';
import { anthropicTools, type AnthropicTools } from './anthropic.ts';
import { openAiTools, type OpenAiTools } from './openai.ts';
import { toText, type TextResult } from './text-result.ts';

/** The tools for some workspaces. Their names have at most 64 characters, which all models accept. */
export class ModelTools {
  readonly declaration: Toolset;
  readonly definitions: readonly ToolDefinition[];
  readonly #tools: ToolOperations;

  constructor(tools: ToolOperations, declaration: Toolset, definitions: readonly ToolDefinition[]) {
    this.declaration = declaration;
    this.definitions = definitions;
    this.#tools = tools;
  }

  /** Returns whether the set has a tool with this name. */
  has(name: string): boolean {
    return this.definitions.some((definition) => definition.name === name);
  }

  /** Calls a tool with arguments from a model. If the model made a mistake, the result reports it with `isError`. */
  callTool(name: string, args: Options = {}, control: Control = {}): Promise<ToolResult> {
    return this.#tools.call({ ...this.declaration, name, arguments: { ...args }, ...control });
  }

  /**
   * Calls a tool for a model, and returns the text for the model, also after a failure. `args` may be a JSON string.
   *
   * @throws ABORTED if the signal fires, and errors that are not from the snapshotter.
   */
  async answer(name: string, args: unknown, control: Control = {}): Promise<TextResult> {
    let given: unknown;
    try {
      given = typeof args === 'string' ? JSON.parse(args || '{}') : (args ?? {});
    } catch {
      return { text: 'The arguments are not JSON.', isError: true };
    }
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      return { text: 'The arguments are not an object.', isError: true };
    try {
      return toText(await this.callTool(name, given as Options, control));
    } catch (thrown) {
      const error = asSnapshotterError(thrown);
      if (!error || error.code === 'ABORTED') throw thrown;
      return { text: error.message, isError: true };
    }
  }

  /** Returns the tools for the AI SDK (npm `ai`): `generateText({ tools: toolset.forAiSdk(jsonSchema), … })`. */
  forAiSdk<Schema>(jsonSchema: JsonSchema<Schema>): AiSdkTools<Schema> {
    return aiSdkTools(this, jsonSchema);
  }

  /** Returns the tools for OpenAI's chat completions and Responses APIs. */
  forOpenAI(): OpenAiTools {
    return openAiTools(this);
  }

  /** Returns the tools for Anthropic's Messages API. */
  forAnthropic(): AnthropicTools {
    return anthropicTools(this);
  }
}
