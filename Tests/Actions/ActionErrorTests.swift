import CoherenceActions
import CoherenceCore
import Testing

@Suite("Errors of actions")
struct ActionErrorTests {
  private struct OtherFailure: Error {}

  /// An action that always throws.
  private struct OtherAction: GenericAction {
    func execute() throws { throw OtherFailure() }
  }

  @Test func `the error of failed dependencies names them, and has the error of the first`() async throws {
    let connect = try ConnectStack.started().connect
    let first = try connect.execute(MockGenericAction(script: MockScript(fails: true)))
    let second = try connect.execute(OtherAction())
    let third = try connect.execute(ClosureAction(ConnectEntity1.self) { _ in })
    let options = ActionOptions(dependencies: [first, third, second])
    let handle = try connect.execute(MockGenericAction(), options: options)
    try await handle.waitUntilFinished()
    let error = try #require(handle.error as? CoherenceError)
    #expect(error.code == .dependencyFailed && error.underlying is MockError)
    #expect(error.message.contains("did not succeed: 'MockGenericAction' failed, 'OtherAction' failed."))
  }

  @Test func `the error of a stop that takes too long is retryable, and a further stop waits on`() async throws {
    let stack = try ConnectStack.started()
    let script = MockScript(waits: true)
    let running = try stack.connect.execute(MockGenericAction(script: script))
    await script.untilBegun()
    let error = await #expect(throws: CoherenceError.self) { try await stack.connect.stop(.drain, within: .zero) }
    #expect(error?.code == .timedOut && error?.isRetryable == true)
    #expect(running.state == .executing && stack.connect.state == .stopping)
    script.release()
    try await stack.connect.stop(.drain)
    #expect(running.completionStatus == .successful && stack.connect.state == .stopped)
  }

  @Test func `the reasons of refused entities name the correction`() throws {
    let model = try ManagedObjectModel(
      entities: [
        Entity("Idea", isAbstract: true, userInfo: ["uniquenessAttributes": "id"]) { Attribute("id", .int64) },
        Entity("Wrong", userInfo: ["uniquenessAttributes": "id,first,second"]) { Attribute("id", .int64) },
      ])
    let stack = try ConnectStack.started(model)
    let reasons = [
      "Idea": "the entity is abstract; use one of its concrete subentities.",
      "Wrong": "'uniquenessAttributes' of its user info names attributes that the entity does not have: first, second; "
        + "correct the names.",
    ]
    for (name, reason) in reasons {
      let error = #expect(throws: CoherenceError.self) {
        try stack.connect.execute(ClosureAction(ManagedObject.self, entityName: name) { _ in })
      }
      #expect(error?.message == "Entity '\(name)' not managed by Connect: \(reason)")
    }
  }
}
