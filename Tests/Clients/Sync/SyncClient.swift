import Coherence
import CoherenceHTTP
import Foundation
import HTTPTypes

/// Merges the songs of the service into a file, page by page, and continues after an interruption.
struct SyncClient {
  let name: String
  let service: URL
  let connect: GenericConnect<ContextStrategy.Mixed>
  private let http: any HTTPClient

  init(name: String, service: URL, directory: URL) async throws {
    self.name = name
    self.service = service
    var retries = HTTPRetryPolicy()
    retries.statuses.insert(500)
    retries.firstDelay = .milliseconds(20)
    http = URLSessionClient(maximumBodySize: 10_000_000).limited(to: .seconds(60)).retrying(retries)
    connect = GenericConnect(name: "Sync", managedObjectModel: try SyncModel.make(), storeLocation: directory)
    try connect.attachPersistentStore(for: StoreConfiguration(type: .sqlite))
    try await connect.start()
  }

  // MARK: Page by page

  /// Merges new songs, beginning with the first page that the last run did not reach.
  func resume() async throws {
    for try await page in pages("artists", of: NamedRecord.self) {
      try await connect.execute(MergeRecords<Artist, NamedRecord>(records: page.content.records)).value
    }
    for try await page in pages("genres", of: NamedRecord.self) {
      try await connect.execute(MergeRecords<Genre, NamedRecord>(records: page.content.records)).value
    }
    for try await page in pages("songs", of: SongRecord.self, after: try await cursor()) {
      try await connect.execute(MergeRecords<Song, SongRecord>(records: page.content.records)).value
      // After the page: when this is lost, the page is merged again, which does no harm.
      let progress = ProgressRecord(client: name, cursor: page.content.next)
      try await connect.execute(MergeRecords<SyncProgress, ProgressRecord>(records: [progress])).value
    }
  }

  /// The cursor of the next page to request; `nil` for the first.
  func cursor() async throws -> String? {
    let (name, context) = (name, connect.newBackgroundContext())
    return try await context.perform {
      let request = FetchRequest(SyncProgress.self).filter { $0.client == name }
      return try context.fetch(request).first?.cursor
    }
  }

  // MARK: As a whole

  /// Merges all pages, and deletes the songs that the service has no more; drafts are not the service's.
  func replace() async throws -> MergeResult {
    try await connect.execute(ReplaceSongs(pages: pages("songs", of: SongRecord.self))).value
  }

  private func pages<Record>(
    _ kind: String, of type: Record.Type, after cursor: String? = nil
  ) -> HTTPPages<Page<Record>> {
    var components = URLComponents(url: service.appendingPathComponent(kind), resolvingAgainstBaseURL: true)
    components?.queryItems = cursor.map { [URLQueryItem(name: "after", value: $0)] }
    var request = HTTPRequest(method: .get, url: components?.url ?? service)
    if let field = HTTPField.Name("X-Client") { request.headerFields[field] = name }
    return http.pages(of: Page<Record>.self, from: request, by: .cursor(in: "after") { $0.next })
  }
}

struct ProgressRecord: Codable, Sendable {
  var client: String
  var cursor: String?
}

/// Merges one page of records, and does so again when another process was quicker.
struct MergeRecords<Object: ManagedObject, Record: Decodable & Sendable>: AsyncEntityAction {
  typealias ManagedObjectType = Object
  let records: [Record]

  var options: ActionOptions {
    let retry = RetryPolicy(attempts: 20, initialDelay: .milliseconds(20), maximumDelay: .milliseconds(500)) { error in
      switch error {
      case ErrorCode.uniquenessViolated, ErrorCode.versionConflict: true
      default: RetryPolicy.isTransient(error)
      }
    }
    return ActionOptions(retry: retry)
  }

  func execute(context: ActionContext) async throws {
    try await context.perform {
      let entity = try context.persistentStoreCoordinator?.managedObjectModel.entity(for: Object.self)
      guard let entity else { throw SyncError("The context has no stores.") }
      try context.merge(records: records, for: entity)
    }
  }
}

/// Merges all pages of songs, and deletes at the end those that no page named.
struct ReplaceSongs: AsyncEntityAction {
  typealias ManagedObjectType = Song
  let pages: HTTPPages<Page<SongRecord>>

  func execute(context: ActionContext) async throws -> MergeResult {
    let entity = try context.persistentStoreCoordinator?.managedObjectModel.entity(for: Song.self)
    guard let entity else { throw SyncError("The context has no stores.") }
    return try await context.mergePages(
      pages.map { $0.content.records }, for: entity, subsetFilter: try FetchPredicate(format: "id > 0"),
      options: MergeOptions(mode: .replace, maximumDeletedShare: 0.5))
  }
}

struct SyncError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
