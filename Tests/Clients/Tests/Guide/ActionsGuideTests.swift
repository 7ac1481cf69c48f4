import Coherence
import CoherenceHTTP
import CoherenceModelMacros
import Foundation
import HTTPTypes
import Testing

@Entity(userInfo: ["uniquenessAttributes": "id"])
final class Song: ManagedObject {
  var id: Int64
  var title: String

  static let model = Result { try ManagedObjectModel(Song.self, name: "Songs") }
}

struct SongRecord: Codable, Sendable {
  let id: Int64
  let title: String
}

struct CountSongs: AsyncGenericAction {
  let container: any PersistentContainer

  func execute() async throws -> Int {
    try await container.performBackgroundTask { try $0.count(for: FetchRequest(Song.self)) }
  }
}

struct StoreSongs: EntityAction {
  typealias ManagedObjectType = Song
  let records: [SongRecord]

  func execute(context: ActionContext) throws {
    try context.merge(records: records, for: context.entity(for: Song.self))
  }
}

struct ReplaceSongs: EntityAction {
  typealias ManagedObjectType = Song
  let records: [SongRecord]

  func execute(context: ActionContext) throws {
    try context.merge(
      records: records, for: context.entity(for: Song.self),
      options: MergeOptions(mode: .replace, maximumDeletedShare: 0.5))
  }
}

struct MarkLiveSongs: EntityAction {
  typealias ManagedObjectType = Song

  func execute(context: ActionContext) throws {
    try context.performAndWait {
      for song in try context.fetch(FetchRequest(Song.self)) { song.title += " (live)" }
      try context.save()
    }
  }
}

struct ShortenTitles: AsyncEntityAction {
  typealias ManagedObjectType = Song
  let length: Int

  func execute(context: ActionContext) async throws -> Int {
    try await context.perform {
      let songs = try context.fetch(FetchRequest(Song.self))
      context.progress?.totalUnitCount = Int64(songs.count)
      for song in songs {
        if song.title.count > length { song.title = String(song.title.prefix(length)) }
        context.progress?.completedUnitCount += 1
      }
      try context.save()
      return songs.count
    }
  }
}

struct SongPage: Codable, Sendable {
  let songs: [SongRecord]
  let next: String?
}

struct FetchSongs: AsyncEntityAction {
  typealias ManagedObjectType = Song
  let http: any HTTPClient
  let url: URL

  var options: ActionOptions {
    ActionOptions(timeout: .seconds(120), uniqueKey: "songs", retry: RetryPolicy(attempts: 3))
  }

  func execute(context: ActionContext) async throws -> MergeResult {
    let pages = http.pages(
      of: SongPage.self, from: HTTPRequest(method: .get, url: url), by: .cursor(in: "after") { $0.next })
    return try await context.mergePages(pages.map { $0.content.songs }, for: context.entity(for: Song.self))
  }
}

/// The songs of a program with any strategy.
struct SongBook: Sendable {
  let connect: any Connect & ActionManager

  func add(_ records: [SongRecord]) async throws {
    try await connect.execute(StoreSongs(records: records)).value
  }
}

@Suite("The articles about actions")
struct ActionsGuideTests {
  private let connect: GenericConnect<ContextStrategy.Mixed>

  init() throws {
    let connect = GenericConnect<ContextStrategy.Mixed>(name: "Songs", managedObjectModel: try Song.model.get())
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    self.connect = connect
  }

  private func titles() async throws -> [String] {
    try await connect.performBackgroundTask { context in
      try context.fetch(FetchRequest(Song.self).sort(\.id)).map(\.title)
    }
  }

  @Test func `actions are executed and awaited`() async throws {
    let connect = connect
    try await connect.start()
    let handle = try connect.execute(StoreSongs(records: [SongRecord(id: 1, title: "Sinnerman")]))
    try await handle.value
    let count = try await connect.execute(CountSongs(container: connect)).value
    #expect(count == 1 && handle.completionStatus == .successful)
    #expect(handle.statistics.contextStatistics?.inserts == 1)
    try await connect.stop(.drain)
    #expect(connect.state == .stopped)
  }

  @Test func `an action edits objects and reports its progress and statistics`() async throws {
    let connect = connect
    try await connect.start()
    let records = [SongRecord(id: 1, title: "Sinnerman"), SongRecord(id: 2, title: "Lilac Wine")]
    try await connect.execute(StoreSongs(records: records)).value
    try await connect.execute(MarkLiveSongs()).value
    #expect(try await titles() == ["Sinnerman (live)", "Lilac Wine (live)"])

    let handle = try connect.execute(ShortenTitles(length: 10)) { proxy in
      print(proxy.completionStatus, proxy.statistics.executionTime)  // on a thread of its own
    }
    for await progress in handle.progressUpdates { print(progress.fractionCompleted) }
    let count = try await handle.value
    let updates = handle.statistics.contextStatistics?.updates ?? 0
    #expect(count == 2 && updates == 2 && handle.progress.completedUnitCount == 2)
    #expect(try await titles() == ["Sinnerman ", "Lilac Wine"])
  }

  @Test func `a type without a strategy executes actions`() async throws {
    let connect = connect
    try await connect.start()
    try await SongBook(connect: connect).add([SongRecord(id: 1, title: "Sinnerman")])
    #expect(try await titles() == ["Sinnerman"])
    try await connect.stop()
  }

  @Test func `options of the submitter replace those of the action`() async throws {
    let connect = connect
    try await connect.start()
    let records = [SongRecord(id: 1, title: "Sinnerman")]
    let first = try connect.execute(StoreSongs(records: records))
    let second = try connect.execute(
      CountSongs(container: connect), options: ActionOptions(priority: .high, dependencies: [first]))
    let count = try await second.value
    #expect(count == 1)
  }

  @Test func `a merge that deletes too much is refused`() async throws {
    let connect = connect
    try await connect.start()
    let records = (1...4).map { SongRecord(id: $0, title: "Song \($0)") }
    try await connect.execute(StoreSongs(records: records)).value
    var deleted = 0
    do {
      try await connect.execute(ReplaceSongs(records: [records[0]])).value
    } catch let error as CoherenceError where error.code == .excessiveDeletion {
      deleted = (error.underlying as? ExcessiveDeletion)?.deletedCount ?? 0  // 3
    }
    #expect(deleted == 3)
    #expect(try await titles().count == 4)
  }

  @Test func `an action merges the pages of a web service`() async throws {
    let connect = connect
    try await connect.start()
    let replay = HTTPReplay([
      HTTPExchange(
        url: "https://music.example/songs",
        body: .text(#"{"songs": [{"id": 1, "title": "Sinnerman"}], "next": "1"}"#)),
      HTTPExchange(
        url: "https://music.example/songs?after=1",
        body: .text(#"{"songs": [{"id": 2, "title": "Strange Fruit"}], "next": null}"#)),
    ])
    let url = try #require(URL(string: "https://music.example/songs"))
    let result = try await connect.execute(FetchSongs(http: replay, url: url)).value
    #expect(result.inserted == 2)
    #expect(replay.remaining.isEmpty)
    #expect(try await titles() == ["Sinnerman", "Strange Fruit"])
  }

  @Test func `a client is composed of parts`() {
    let http = URLSessionClient(maximumBodySize: 10_000_000).limited(to: .seconds(30)).retrying()
    let client: any HTTPClient = http
    #expect("\(type(of: client))".hasPrefix("RetryingClient"))
  }

  @Test func `the lines of a stream are read one by one`() async throws {
    let text = #"{"id": 1, "title": "Sinnerman"}"# + "\n" + #"{"id": 2, "title": "Strange Fruit"}"# + "\n"
    let http: any HTTPClient = HTTPReplay([HTTPExchange(url: "https://music.example/songs", body: .text(text))])
    let url = try #require(URL(string: "https://music.example/songs"))
    var songs: [SongRecord] = []
    let request = HTTPRequest(method: .get, url: url)
    let reply = try await http.stream(request).successful()
    for try await line in reply.body.lines() {
      songs.append(try JSONDecoder().decode(SongRecord.self, from: line))
    }
    #expect(songs.map(\.id) == [1, 2])
  }

  @Test func `a reply is decoded and a status of failure is an error`() async throws {
    let http: any HTTPClient = HTTPReplay([HTTPExchange(url: "https://music.example/songs", status: 503)])
    let url = try #require(URL(string: "https://music.example/songs"))
    var status: Int?
    do {
      let page = try await http.send(HTTPRequest(method: .get, url: url)).successful().decode(SongPage.self)
      print(page.songs.count)
    } catch let error as CoherenceError where error.code == .httpStatus {
      status = (error.underlying as? HTTPFailure)?.status  // 503
    }
    #expect(status == 503)
  }

  @Test func `events report the end of an action`() async throws {
    let connect = connect
    let events = connect.events
    let follower = Task {
      for await event in events {
        if case .actionFinished(let proxy) = event { return proxy.completionStatus }
      }
      return .unknown
    }
    try await connect.start()
    try await connect.execute(StoreSongs(records: [SongRecord(id: 1, title: "Sinnerman")])).value
    #expect(await follower.value == .successful)
  }
}
