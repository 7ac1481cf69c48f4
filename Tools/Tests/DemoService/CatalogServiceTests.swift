import DemoService
import Foundation
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Catalog service")
struct CatalogServiceTests {
  private let catalog = GeneratedCatalog(count: 250).catalog()

  @Test func `all pages together contain the whole catalog`() async throws {
    try await withService { client in
      var packages: [PackageRecord] = []
      for page in 1...3 {
        let answer: PackagePage = try await client.get("packages?page=\(page)&size=100")
        #expect(answer.total == 250)
        #expect(answer.pages == 3)
        #expect(answer.page == page)
        packages += answer.packages
      }
      #expect(packages == catalog.packages)
      let behind: PackagePage = try await client.get("packages?page=4&size=100")
      #expect(behind.packages.isEmpty)
    }
  }

  @Test func `maintainers and sections are listed`() async throws {
    try await withService { client in
      let maintainers: MaintainerPage = try await client.get("maintainers?page=1&size=1000")
      #expect(maintainers.maintainers == catalog.maintainers)
      let sections: SectionList = try await client.get("sections")
      #expect(sections.sections == catalog.sections)
    }
  }

  @Test func `an unchanged page is not sent again`() async throws {
    try await withService { client in
      let (_, first) = try await client.send("GET", "packages?page=1")
      let tag = try #require(first.value(forHTTPHeaderField: "ETag"))
      let (body, second) = try await client.send("GET", "packages?page=1", headers: ["If-None-Match": tag])
      #expect(second.statusCode == 304)
      #expect(body.isEmpty)
      _ = try await client.edit(catalog.packages[0].name, PackageEdit(summary: "edited"))
      let (_, third) = try await client.send("GET", "packages?page=1", headers: ["If-None-Match": tag])
      #expect(third.statusCode == 200)
    }
  }

  @Test func `an edit changes the given fields and counts the revision`() async throws {
    try await withService { client in
      var expected = catalog.packages[3]
      expected.summary = "edited"
      expected.revision = 1
      let (body, response) = try await client.edit(expected.name, PackageEdit(summary: "edited"))
      #expect(response.statusCode == 200)
      #expect(try JSONDecoder().decode(PackageRecord.self, from: body) == expected)
      let fetched: PackageRecord = try await client.get("packages/\(expected.name)")
      #expect(fetched == expected)
    }
  }

  @Test func `an edit of a package edited by another client after the read is refused`() async throws {
    try await withService { client in
      let name = catalog.packages[0].name
      let (_, fetched) = try await client.send("GET", "packages/\(name)")
      let tag = try #require(fetched.value(forHTTPHeaderField: "ETag"))
      let headers = ["If-Match": tag]
      let (_, first) = try await client.edit(name, PackageEdit(version: "2"), headers: headers)
      let (_, second) = try await client.edit(name, PackageEdit(version: "3"), headers: headers)
      #expect(first.statusCode == 200)
      #expect(second.statusCode == 412)
    }
  }

  @Test(arguments: [
    ("GET", "packages?page=0", 400), ("GET", "packages?page=x", 400), ("GET", "packages?size=1001", 400),
    ("GET", "packages?page=9223372036854775807", 200), ("GET", "packages/none", 404), ("PATCH", "packages/none", 400),
    ("GET", "elsewhere", 404),
  ])
  func `invalid requests are refused`(method: String, path: String, code: Int) async throws {
    try await withService { client in
      let (_, response) = try await client.send(method, path)
      #expect(response.statusCode == code)
    }
  }

  @Test func `names with a plus sign are found, escaped or not`() async throws {
    var package = catalog.packages[0]
    package.name = "libzo++6"
    try await withService(Catalog([package])) { client in
      for path in ["packages/libzo++6", "packages/libzo%2B%2B6"] {
        let found: PackageRecord = try await client.get(path)
        #expect(found.name == "libzo++6")
      }
    }
  }

  @Test func `starting on a used port fails, and starting twice fails too`() async throws {
    let service = CatalogService(catalog: catalog)
    let url = try await service.start()
    let port = try #require(url.port.flatMap(UInt16.init(exactly:)))
    await #expect(throws: (any Error).self) { try await service.start() }
    await #expect(throws: (any Error).self) { try await CatalogService(catalog: catalog, port: port).start() }
    await service.stop()
  }

  private func withService(_ other: Catalog? = nil, _ body: (Client) async throws -> Void) async throws {
    let service = CatalogService(catalog: other ?? catalog)
    let client = Client(base: try await service.start())
    let result: Result<Void, any Error>
    do { result = .success(try await body(client)) } catch { result = .failure(error) }
    await service.stop()
    try result.get()
  }
}

private struct Client {
  let base: URL

  func get<Value: Decodable>(_ path: String) async throws -> Value {
    try JSONDecoder().decode(Value.self, from: try await send("GET", path).body)
  }

  func edit(_ name: String, _ edit: PackageEdit, headers: [String: String] = [:]) async throws -> Answer {
    try await send("PATCH", "packages/\(name)", headers: headers, body: JSONEncoder().encode(edit))
  }

  typealias Answer = (body: Data, response: HTTPURLResponse)

  func send(
    _ method: String, _ path: String, headers: [String: String] = [:], body: Data? = nil
  ) async throws -> Answer {
    var request = URLRequest(url: try #require(URL(string: path, relativeTo: base)))
    request.httpMethod = method
    request.httpBody = body
    request.cachePolicy = .reloadIgnoringLocalCacheData
    for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
    let (data, response) = try await URLSession.shared.data(for: request)
    return (data, try #require(response as? HTTPURLResponse))
  }
}
