// A Worker in JavaScript that does nothing.

export default {
  fetch() {
    return new Response('nothing');
  },
};
