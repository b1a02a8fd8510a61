import { asSnapshotterError } from '../recognize.ts';
import type { ToolOperations } from '../groups.ts';
import type { Control, Options } from '../operations.ts';
import type { ToolDefinition, ToolResult, Toolset } from '../types.ts';
import { aiSdkTools, type AiSdkTools, type JsonSchema } from './ai-sdk.ts';
import { anthropicTools, type AnthropicTools } from './anthropic.ts';
import { openAiTools, type OpenAiTools } from './openai.ts';
import { wordsOf, type Words } from './words.ts';

/** The tools for some workspaces. Their names have at most 64 characters, as all models take them. */
export class ModelTools {
  readonly declaration: Toolset;
  readonly definitions: readonly ToolDefinition[];
  readonly #tools: ToolOperations;

  constructor(tools: ToolOperations, declaration: Toolset, definitions: readonly ToolDefinition[]) {
    this.declaration = declaration;
    this.definitions = definitions;
    this.#tools = tools;
  }

  /** Whether it has a tool of that name. */
  has(name: string): boolean {
    return this.definitions.some((definition) => definition.name === name);
  }

  /** Calls a tool with the arguments that a model gave. What the model did wrong is in the result, marked by `isError`. */
  callTool(name: string, args: Options = {}, control: Control = {}): Promise<ToolResult> {
    return this.#tools.call({ ...this.declaration, name, arguments: { ...args }, ...control });
  }

  /**
   * Calls a tool for a model: a failure is told in words too, so that the model can go on. `args` may be JSON.
   *
   * @throws ABORTED: nobody waits for the words.
   */
  async answer(name: string, args: unknown, control: Control = {}): Promise<Words> {
    let given: unknown;
    try {
      given = typeof args === 'string' ? JSON.parse(args || '{}') : (args ?? {});
    } catch {
      return { text: 'The arguments are not JSON.', isError: true };
    }
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      return { text: 'The arguments are not an object.', isError: true };
    try {
      return wordsOf(await this.callTool(name, given as Options, control));
    } catch (thrown) {
      const error = asSnapshotterError(thrown);
      if (!error || error.code === 'ABORTED') throw thrown;
      return { text: error.message, isError: true };
    }
  }

  /** For the AI SDK (npm `ai`), whose `jsonSchema` it takes: `generateText({ tools: toolset.forAiSdk(jsonSchema), … })`. */
  forAiSdk<Schema>(jsonSchema: JsonSchema<Schema>): AiSdkTools<Schema> {
    return aiSdkTools(this, jsonSchema);
  }

  /** For OpenAI's chat completions and Responses APIs. */
  forOpenAI(): OpenAiTools {
    return openAiTools(this);
  }

  /** For Anthropic's Messages API. */
  forAnthropic(): AnthropicTools {
    return anthropicTools(this);
  }
}
