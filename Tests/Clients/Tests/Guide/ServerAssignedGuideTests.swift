import Coherence
import CoherenceModelMacros
import CoherenceOutbox
import Foundation
import Testing

@Entity final class Page: ManagedObject {
  @Attribute(.unique) var number = 0
  var text: String
  @Attribute(userInfo: [Outbox.serverAssignedSetting: "true"]) var revision = 0
}

/// A server with one page, which refuses an edit of another revision than its own.
actor PageServer {
  struct Reply {
    let isConflict: Bool
    let text: String
    let revision: Int
  }

  private(set) var text = "first"
  private(set) var revision = 1

  func patch(_ text: String?, ifMatch revision: Int?) -> Reply {
    let isConflict = revision != self.revision
    if let text, !isConflict {
      self.text = text
      self.revision += 1
    }
    return Reply(isConflict: isConflict, text: self.text, revision: self.revision)
  }
}

/// The code of the article about sending changes to a server that counts revisions.
@Suite("The guide to values that a server assigns")
struct ServerAssignedGuideTests {
  @Test func `a request has the revision of the server as its precondition`() async throws {
    let model = try ManagedObjectModel(Page.self, name: "Pages").addingOutbox()
    let connect = GenericConnect<ContextStrategy.Mixed>(name: "Pages", managedObjectModel: model)
    let outbox = try Outbox(connect, forwarding: Page.self)
    let server = PageServer()
    try outbox.forward(Page.self) { handlers in
      handlers.update { request in
        let reply = await server.patch(request[\.text], ifMatch: request.assigned(\.revision))
        if reply.isConflict { return .conflict(["text": reply.text, "revision": reply.revision]) }
        return .accepted(["revision": reply.revision])
      }
    }
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    try await connect.performBackgroundTask { context in
      // As after a merge of an old page: the record is no edit, and the revision is older than the server's.
      context.recordsChanges = false
      let page = try Page(context: context)
      (page.number, page.text) = (1, "draft")
      try context.save()
    }
    try await connect.performBackgroundTask { context in
      for page in try context.fetch(FetchRequest(Page.self)) { page.text = "mine" }
      try context.save()
    }
    try outbox.start(ForwardOptions(conflictPolicy: .sendAgain))
    #expect(try await outbox.flush() == 0)
    await outbox.stop()
    #expect(await server.text == "mine")
    #expect(await server.revision == 2)
    let revisions = try await connect.performBackgroundTask { context in
      try context.fetch(FetchRequest(Page.self)).map(\.revision)
    }
    #expect(revisions == [2])
    try await connect.stop(.drain)
  }
}
