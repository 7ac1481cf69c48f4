#if os(Linux)
  import Testing

  @Suite("A feed")
  struct FeedTests {
    @Test(.timeLimit(.minutes(15)))
    func `the feed shows the server's posts once, drafts until their result, and no data of another user`() throws {
      let program = Program("coherence-feed")
      defer { program.remove() }
      #expect(
        try program.output() == """
          two pages add [6, 5] posts, the next one begins with 6
          before the answer: [-1, 16, 15]
          the last pages add [5] posts
          taken: true, [17, 16, 15]
          before the error: [-1, 17, 16]
          refused: true, [17, 15, 14]
          16 posts, as the server has them: true
          after the account is deleted: 16 posts by ["Ada"]
          8 sockets, 201 messages each: 0 inconsistent snapshots
          the end is the server's: true
          the first user's observers saw ["Ada"] and ["Ada"], the next one's ["Grace"]
          the next one's feed: [1, 2, 3]

          """)
    }
  }
#endif
