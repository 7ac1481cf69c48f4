import CoherenceActions
import CoherenceCore
import CoherenceHTTP
import CoherenceInMemory
import CoherenceStrategies
import Foundation
import HTTPTypes
import Testing

/// A minimal action on the content of a web service, under every failure of the service.
@Suite("Actions on web services")
struct WebServiceActionTests {
  private struct RefreshAlbums: AsyncEntityAction {
    typealias ManagedObjectType = Album
    let http: any HTTPClient
    let url: URL

    func execute(context: ActionContext) async throws -> MergeResult {
      var albums: [AlbumRecord] = []
      for try await page in http.pages(of: AlbumPage.self, from: .get(url), by: AlbumPage.pagination) {
        albums += page.content.albums
      }
      return try context.merge(records: albums, for: Album.model.get().entity(for: Album.self))
    }
  }

  /// The behavior of the service at its second page.
  enum Trouble: CaseIterable {
    case refusal, failure, garbage, halfAPage, hangUp, silence, samePageTwice, pagesOutOfOrder, duplicateKeys
    case keyOfTheWrongType

    var expected: ErrorCode {
      switch self {
      case .refusal, .failure: .httpStatus
      case .garbage, .samePageTwice, .pagesOutOfOrder, .keyOfTheWrongType: .httpUnreadable
      case .halfAPage, .hangUp: .httpTransferFailed
      case .silence: .httpTimedOut
      case .duplicateKeys: .invalidMergeKey
      }
    }

    fileprivate func answer(_ connection: Connection) {
      switch self {
      case .refusal: connection.send(ScriptedReply(status: "404 Not Found"))
      case .failure: connection.send(ScriptedReply(status: "503 Service Unavailable"))
      case .garbage: connection.send(ScriptedReply(body: "<html>Sorry</html>"))
      case .halfAPage: connection.send(ScriptedReply().head(length: 100) + #"{"page":2,"albums":[{"id":3,"#)
      case .hangUp: break
      case .silence: connection.waitUntilClientCloses()
      case .samePageTwice: connection.send(ScriptedReply(body: AlbumPage.text(1, [1, 2], "old")))
      case .pagesOutOfOrder: connection.send(ScriptedReply(body: AlbumPage.text(4, [3], "new")))
      case .duplicateKeys: connection.send(ScriptedReply(body: AlbumPage.text(2, [3, 3], "new")))
      case .keyOfTheWrongType:
        connection.send(ScriptedReply(body: #"{"page":2,"albums":[{"id":"three","title":"new"}]}"#))
      }
    }
  }

  private let connect: GenericConnect<ContextStrategy.Mixed>

  init() throws {
    connect = GenericConnect(name: "Albums", managedObjectModel: try Album.model.get())
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try connect.start()
  }

  private func titles() async throws -> [String] {
    let context = connect.newBackgroundContext()
    return try await context.perform {
      try context.fetch(FetchRequest(Album.self)).map { "\($0[Album.idKey]) \($0[Album.titleKey])" }.sorted()
    }
  }

  /// Albums 1 and 2 on the first page, album 3 on the second, and no album on the third.
  private func makeServer(title: String, trouble: Trouble? = nil, clock: GatedClock? = nil) throws -> LoopbackServer {
    try LoopbackServer { request, connection in
      switch request.target.split(separator: "=").last {
      case "/albums": connection.send(ScriptedReply(body: AlbumPage.text(1, [1, 2], title)))
      case "2" where trouble != nil:
        if trouble == .silence { clock?.ring() }
        trouble?.answer(connection)
      case "2": connection.send(ScriptedReply(body: AlbumPage.text(2, [3], title)))
      default: connection.send(ScriptedReply(body: AlbumPage.text(3, [], title)))
      }
    }
  }

  private func refresh(_ server: LoopbackServer, clock: GatedClock? = nil) throws -> ActionHandle<MergeResult> {
    let client = URLSessionClient(maximumBodySize: .max, configuration: .patient)
    let http: any HTTPClient = if let clock { client.limited(to: .seconds(60), clock: clock) } else { client }
    return try connect.execute(RefreshAlbums(http: http, url: server.url.appending(path: "albums")))
  }

  @Test(arguments: Trouble.allCases)
  func `under every failure of the service the action fails with its error and changes no records`(
    trouble: Trouble
  ) async throws {
    let before = try makeServer(title: "old")
    #expect(try await refresh(before).value.inserted == 3)

    let clock = trouble == .silence ? GatedClock() : nil
    let troubled = try makeServer(title: "new", trouble: trouble, clock: clock)
    let handle = try refresh(troubled, clock: clock)
    try await handle.waitUntilFinished()
    #expect(handle.completionStatus == .failed)
    #expect((handle.error as? CoherenceError)?.code == trouble.expected)
    #expect(try await titles() == ["1 old", "2 old", "3 old"])

    let recovered = try makeServer(title: "new")
    #expect(try await refresh(recovered).value.updated == 3)
    #expect(try await titles() == ["1 new", "2 new", "3 new"])
  }

  @Test func `an action cancelled during a transfer changes no records`() async throws {
    let isHalfway = Gate()
    let server = try LoopbackServer { _, connection in
      connection.send(ScriptedReply().head(length: 1000) + #"{"page":1,"#)
      isHalfway.open()
      connection.waitUntilClientCloses()
    }
    let handle = try refresh(server)
    await isHalfway.wait()
    handle.cancel()
    try await handle.waitUntilFinished()
    #expect(handle.completionStatus == .canceled)
    #expect(try await titles().isEmpty)
  }
}

private final class Album: ManagedObject {
  static let idKey = AttributeKey<Int64>("id")
  static let titleKey = AttributeKey<String>("title")

  static let model = Result {
    try ManagedObjectModel(name: "Albums") {
      Entity("Album", class: Album.self, userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string)
      }
    }
  }
}

private struct AlbumRecord: Codable, Sendable {
  let id: Int64
  let title: String
}

private struct AlbumPage: Codable, Sendable {
  let page: Int
  let albums: [AlbumRecord]

  static let pagination = HTTPPagination<AlbumPage>.number(in: "page", of: \.page) { $0.albums.isEmpty }

  static func text(_ page: Int, _ ids: [Int64], _ title: String) -> String {
    let page = AlbumPage(page: page, albums: ids.map { AlbumRecord(id: $0, title: title) })
    return (try? JSONEncoder().encode(page)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }
}
