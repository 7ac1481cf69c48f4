import FlyingFox
import Foundation

/// Responds to the requests of ``CatalogService``. Edits are applied one after another.
actor CatalogRequests {
  private static let defaultPageSize = 100
  private static let maximumPageSize = 1000

  private var catalog: Catalog
  /// Edits never touch maintainers, so they are gathered once.
  private let maintainers: [MaintainerRecord]

  init(catalog: Catalog) {
    self.catalog = catalog
    maintainers = catalog.maintainers
  }

  nonisolated func addRoutes(to server: HTTPServer) async {
    await server.appendRoute("GET /packages/:name") { await self.package($0) }
    await server.appendRoute("PATCH /packages/:name") { await self.edit($0) }
    await server.appendRoute("GET /packages") { await self.packages($0) }
    await server.appendRoute("GET /maintainers") { await self.maintainers($0) }
    await server.appendRoute("GET /sections") { await self.sections($0) }
  }

  func packages(_ request: HTTPRequest) -> HTTPResponse {
    guard let slice = Slice(request, of: catalog.packages.count) else { return Self.badPage }
    return .json(
      PackagePage(
        total: catalog.packages.count, page: slice.page, pages: slice.pages,
        packages: Array(catalog.packages[slice.range])), for: request)
  }

  func maintainers(_ request: HTTPRequest) -> HTTPResponse {
    guard let slice = Slice(request, of: maintainers.count) else { return Self.badPage }
    return .json(
      MaintainerPage(
        total: maintainers.count, page: slice.page, pages: slice.pages, maintainers: Array(maintainers[slice.range])),
      for: request)
  }

  func sections(_ request: HTTPRequest) -> HTTPResponse {
    .json(SectionList(sections: catalog.sections), for: request)
  }

  func package(_ request: HTTPRequest) -> HTTPResponse {
    guard let package = namedPackage(request) else { return Self.noSuchPackage }
    return .json(package, for: request)
  }

  func edit(_ request: HTTPRequest) async -> HTTPResponse {
    guard let body = try? await request.bodyData, let edit = try? JSONDecoder().decode(PackageEdit.self, from: body)
    else { return .problem(.badRequest, "Send the fields to change as a JSON object.") }
    // The package is looked up after the body has arrived, so that no other edit can run between the comparison and the
    // edit.
    guard let package = namedPackage(request) else { return Self.noSuchPackage }
    if let expected = request.headers[.ifMatch], expected != (try? ContentTag(encoding: package))?.header {
      return .problem(.preconditionFailed, "The package was edited meanwhile; fetch it again before editing it.")
    }
    guard let edited = catalog.apply(edit, to: package.name) else { return Self.noSuchPackage }
    return .json(edited, for: request)
  }

  private func namedPackage(_ request: HTTPRequest) -> PackageRecord? {
    request.routeParameters["name"].flatMap { catalog[$0] ?? $0.removingPercentEncoding.flatMap { catalog[$0] } }
  }

  private static var badPage: HTTPResponse {
    .problem(.badRequest, "Ask for a page from 1 on, of 1 to \(maximumPageSize) entries.")
  }

  private static var noSuchPackage: HTTPResponse {
    .problem(.notFound, "There is no package of this name; GET /packages lists them.")
  }

  /// The part of a list that a request asks for.
  private struct Slice {
    let page: Int
    let pages: Int
    let range: Range<Int>

    /// Returns `nil` for invalid numbers in the request. A page after the last page is empty.
    init?(_ request: HTTPRequest, of total: Int) {
      guard let page = Self.number("page", in: request, default: 1),
        let size = Self.number("size", in: request, default: defaultPageSize), size <= maximumPageSize
      else { return nil }
      self.page = page
      pages = (total + size - 1) / size
      let start = page > pages ? total : (page - 1) * size
      range = start..<min(start + size, total)
    }

    private static func number(_ name: String, in request: HTTPRequest, default fallback: Int) -> Int? {
      guard let text = request.query[name] else { return fallback }
      return Int(text).flatMap { $0 > 0 ? $0 : nil }
    }
  }
}
