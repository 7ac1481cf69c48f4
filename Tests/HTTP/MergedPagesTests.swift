import CoherenceActions
import CoherenceCore
import CoherenceHTTP
import CoherenceInMemory
import CoherenceStrategies
import Foundation
import HTTPTypes
import Testing

@Suite("Merging the pages of a service")
struct MergedPagesTests {
  private struct Song: Codable, Sendable {
    let id: Int64
  }

  private struct Page: Codable, Sendable {
    let next: String?
    let songs: [Song]
  }

  private let connect: GenericConnect<ContextStrategy.Mixed>
  private let entity: EntityDescription

  init() throws {
    let model = try ManagedObjectModel(name: "Songs") {
      Entity("Song", userInfo: ["uniquenessAttributes": "id"]) { Attribute("id", .int64) }
    }
    entity = try model.entity(named: "Song")
    connect = GenericConnect(name: "Songs", managedObjectModel: model)
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try connect.start()
    try connect.newActionContext().merge(records: (1...10).map { MergeRecord(["id": $0]) }, for: entity)
  }

  private func count() async throws -> Int {
    let context = connect.newBackgroundContext()
    return try await context.perform { try context.count(for: FetchRequest<ManagedObject>(entityName: "Song")) }
  }

  /// Merges the pages of a service, each with some songs. The service refuses a page without songs.
  private func merge(_ pages: [[Int64]]) async throws -> MergeResult {
    let client = StubClient { number, request in
      if pages[number].isEmpty { return .make(to: request, 503) }
      let next = number + 1 < pages.count ? "\(number + 1)" : nil
      let body = try JSONEncoder().encode(Page(next: next, songs: pages[number].map { Song(id: $0) }))
      return .make(to: request, 200, [:], String(decoding: body, as: UTF8.self))
    }
    let content = client.pages(
      of: Page.self, from: .get("https://example.org/songs"), by: .cursor(in: "after") { $0.next }
    ).map { $0.content.songs }
    return try await connect.newActionContext().mergePages(
      content, for: entity, options: MergeOptions(mode: .replace, maximumDeletedShare: 0.5))
  }

  @Test func `songs on no page are deleted after the last page`() async throws {
    let result = try await merge([[1, 2, 3], [4, 5], [6, 11]])
    #expect(result.inserted == 1 && result.unchanged == 6 && result.deleted == 4)
    #expect(try await count() == 7)
  }

  @Test func `a merge of pages with a failed page deletes nothing`() async throws {
    await #expect { try await merge([[1, 2, 3, 11], [], [6]]) } throws: { ErrorCode.httpStatus ~= $0 }
    #expect(try await count() == 11)
  }

  @Test func `a merge of pages beyond the maximum deleted share deletes nothing`() async throws {
    await #expect { try await merge([[1, 2], [3]]) } throws: { ErrorCode.excessiveDeletion ~= $0 }
    #expect(try await count() == 10)
  }
}
