#if os(Linux)
  import Foundation
  import Testing

  @Suite("First steps with a Connect: the start")
  struct StartTests {
    @Test func `each way to start finds its model in a file or in code and attaches the expected stores`() throws {
      let program = Program("coherence-start")
      defer { program.remove() }
      let output = try program.output()
      #expect(
        output == """
          without configuration: MyModelName.sqlite with Global, Persistent, Transient
          with configurations: memory, MyModelName.persistentdata.sqlite with Persistent, Transient
          for a user: memory, users/ada/MyModelName.persistentdata.sqlite with Persistent, Transient
          for a user beside a global store: users/global/MyModelName.globaldata.sqlite, memory, \
          users/ada/MyModelName.persistentdata.sqlite with Global, Persistent, Transient
          by a delegate: true ModelName.sqlite with Global, Persistent, Transient

          """)
    }
  }
#endif
