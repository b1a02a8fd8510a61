import type { Control } from '../operations.ts';
import { inOrder } from './in-order.ts';
import type { ModelTools } from './model-tools.ts';

type Schema = Record<string, unknown>;

/** A tool call in a message of a chat completion. Calls other than function calls are ignored. */
export interface ChatToolCall {
  readonly id: string;
  readonly function?: { readonly name: string; readonly arguments: string };
}

/** An item in the output of a response. Items other than a `function_call` are ignored. */
export interface ResponseItem {
  readonly type: string;
  readonly call_id?: unknown;
  readonly name?: unknown;
  readonly arguments?: unknown;
}

/** The tools in the format of the chat completions API. */
export interface ChatTools {
  readonly tools: {
    type: 'function';
    function: { name: string; description: string; parameters: Schema };
  }[];
  /** Makes the calls of these tools, and returns the messages that answer them. */
  answer(
    calls: readonly ChatToolCall[] | undefined,
    control?: Control,
  ): Promise<{ role: 'tool'; tool_call_id: string; content: string }[]>;
}

/** The tools in the format of the Responses API. */
export interface ResponseTools {
  readonly tools: {
    type: 'function';
    name: string;
    description: string;
    parameters: Schema;
    strict: false;
  }[];
  /** Makes the calls of these tools, and returns the input items that answer them. */
  answer(
    output: readonly ResponseItem[],
    control?: Control,
  ): Promise<{ type: 'function_call_output'; call_id: string; output: string }[]>;
}

/** The tools in the formats of both of OpenAI's APIs. */
export interface OpenAiTools {
  readonly chat: ChatTools;
  readonly responses: ResponseTools;
}

/** Returns the tools in the formats of OpenAI's APIs. */
export function openAiTools(toolset: ModelTools): OpenAiTools {
  return { chat: chatTools(toolset), responses: responseTools(toolset) };
}

function chatTools(toolset: ModelTools): ChatTools {
  return {
    tools: toolset.definitions.map(({ name, description, inputSchema: parameters }) => ({
      type: 'function',
      function: { name, description, parameters },
    })),
    answer: (calls = [], control) =>
      inOrder(calls, async ({ id, function: called }) => {
        if (!called || !toolset.has(called.name)) return undefined;
        const { text } = await toolset.answer(called.name, called.arguments, control);
        return { role: 'tool', tool_call_id: id, content: text };
      }),
  };
}

function responseTools(toolset: ModelTools): ResponseTools {
  return {
    tools: toolset.definitions.map(({ name, description, inputSchema: parameters }) => ({
      type: 'function',
      name,
      description,
      parameters,
      strict: false,
    })),
    answer: (output, control) =>
      inOrder(output, async ({ type, call_id, name, arguments: args }) => {
        if (type !== 'function_call' || typeof call_id !== 'string') return undefined;
        if (typeof name !== 'string' || !toolset.has(name)) return undefined;
        const { text } = await toolset.answer(name, args, control);
        return { type: 'function_call_output', call_id, output: text };
      }),
  };
}
