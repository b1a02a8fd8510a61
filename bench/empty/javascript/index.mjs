// An empty JavaScript Worker.

export default {
  fetch() {
    return new Response('nothing');
  },
};
