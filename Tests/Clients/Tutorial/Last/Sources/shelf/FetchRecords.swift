import Coherence
import CoherenceHTTP
import Foundation
import HTTPTypes

/// A page of the service.
struct Page<Record: Decodable & Sendable>: Decodable, Sendable {
  let records: [Record]
  /// The address of the next page, relative to this page; `nil` on the last page.
  let next: String?
}

/// An artist of the service. Each property has the name of a property of `Artist`.
struct ArtistRecord: Decodable, Sendable {
  let name: String
}

/// An album of the service. The artist is a link: the value of the key of `Artist`.
struct AlbumRecord: Decodable, Sendable {
  let code: String
  let title: String
  let year: Int?
  let artist: String
}

/// Merges all pages of an address into the records of an entity.
struct FetchRecords<Object: ManagedObject, Record: Decodable & Sendable>: AsyncEntityAction {
  typealias ManagedObjectType = Object
  let http: any HTTPClient
  let url: URL

  var options: ActionOptions { ActionOptions(timeout: .seconds(60)) }

  func execute(context: ActionContext) async throws -> MergeResult {
    let url = url
    let pages = http.pages(
      of: Page<Record>.self, from: HTTPRequest(method: .get, url: url),
      by: HTTPPagination { page in
        guard let next = page.content.next, let address = URL(string: next, relativeTo: url) else { return nil }
        return HTTPRequest(method: .get, url: address.absoluteURL)
      })
    return try await context.mergePages(pages.map { $0.content.records }, for: context.entity(for: Object.self))
  }
}

extension Shelf {
  /// Merges the artists and the albums of the service.
  ///
  /// - Returns: The numbers of inserted and updated records.
  func sync(with service: URL, by http: any HTTPClient) async throws -> (inserted: Int, updated: Int) {
    let artists = try await connect.execute(
      FetchRecords<Artist, ArtistRecord>(http: http, url: service.appendingPathComponent("artists.json"))
    ).value
    let albums = try await connect.execute(
      FetchRecords<Album, AlbumRecord>(http: http, url: service.appendingPathComponent("albums-1.json"))
    ).value
    return (artists.inserted + albums.inserted, artists.updated + albums.updated)
  }
}
