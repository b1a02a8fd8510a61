import type { Control } from '../operations.ts';
import { inOrder } from './in-order.ts';
import type { ModelTools } from './model-tools.ts';

/** A block of a message. Blocks other than a `tool_use` of these tools are ignored. */
export interface ContentBlock {
  readonly type: string;
  readonly id?: unknown;
  readonly name?: unknown;
  readonly input?: unknown;
}

/** The tools in the format of the Messages API. */
export interface AnthropicTools {
  readonly tools: {
    name: string;
    description: string;
    input_schema: { type: 'object'; [key: string]: unknown };
  }[];
  /** Calls these tools for the `tool_use` blocks, and returns the `tool_result` blocks for the next user message. */
  answer(
    content: readonly ContentBlock[],
    control?: Control,
  ): Promise<{ type: 'tool_result'; tool_use_id: string; content: string; is_error: boolean }[]>;
}

/** Returns the tools in the format of Anthropic's Messages API. */
export function anthropicTools(toolset: ModelTools): AnthropicTools {
  return {
    tools: toolset.definitions.map(({ name, description, inputSchema }) => ({
      name,
      description,
      input_schema: { ...inputSchema, type: 'object' },
    })),
    answer: (content, control) =>
      inOrder(content, async ({ type, id, name, input }) => {
        if (type !== 'tool_use' || typeof id !== 'string') return undefined;
        if (typeof name !== 'string' || !toolset.has(name)) return undefined;
        const { text, isError } = await toolset.answer(name, input, control);
        return { type: 'tool_result', tool_use_id: id, content: text, is_error: isError };
      }),
  };
}
