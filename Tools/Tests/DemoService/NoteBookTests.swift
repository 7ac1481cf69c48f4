import DemoService
import Foundation
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("The notes of the service")
struct NoteBookTests {
  private let note = NoteRecord(id: UUID(), packageName: "libzo", text: "old", stars: 3)

  @Test func `an edit with a known key gets the first reply and changes nothing`() async throws {
    let (book, codes) = try await send([
      .patch(note.id, from: "old", to: "new", key: 1), .patch(note.id, from: "old", to: "new", key: 1),
      .patch(note.id, from: "new", to: "newer", key: 2), .patch(note.id, from: "old", to: "new", key: 1),
    ])
    #expect(codes == [200, 200, 200, 200])
    #expect(await book.list.notes.map(\.text) == ["newer"])
    #expect(await book.list.notes.map(\.revision) == [3])
    let statistics = await book.statistics
    #expect(statistics.applied == 2 && statistics.mostApplications == 1 && statistics.refusedDuplicates == 2)
  }

  @Test func `a book without idempotency keys applies a repeated edit again and counts it`() async throws {
    let (book, codes) = try await send(
      [.patch(note.id, from: "old", to: "new", key: 1), .patch(note.id, from: "old", to: "new", key: 1)],
      honorsKeys: false)
    #expect(codes == [200, 200])
    #expect(await book.list.notes.map(\.revision) == [3])
    #expect(await book.statistics.mostApplications == 2)
  }

  @Test func `a change of a field that another client has changed is refused with the note`() async throws {
    let (book, codes) = try await send([
      .patch(note.id, from: "older", to: "new", key: 1), .patch(note.id, from: "older", to: "old", key: 2),
    ])
    #expect(codes == [409, 200])
    #expect(await book.statistics.conflicts == 1)
    #expect(await book.list.notes.map(\.text) == ["old"])
  }

  @Test func `a deleted note is unknown, and an edit without a key is refused`() async throws {
    let (book, codes) = try await send([
      Message("DELETE", "notes/\(note.id)", key: 1), Message("DELETE", "notes/\(note.id)", key: 1),
      .patch(note.id, from: "old", to: "new", key: 2), Message("DELETE", "notes/\(note.id)", key: nil),
    ])
    #expect(codes == [204, 204, 404, 400])
    #expect(await book.list.notes.isEmpty)
  }

  @Test func `the count of a deleted note goes on when the note is inserted again`() async throws {
    let body = try JSONEncoder().encode(note)
    let (book, codes) = try await send([
      .patch(note.id, from: "old", to: "new", key: 1), Message("DELETE", "notes/\(note.id)", key: 2),
      Message("POST", "notes", body: body, key: 3),
    ])
    #expect(codes == [200, 204, 200])
    #expect(await book.list.notes.map(\.revision) == [3])
  }

  /// Sends messages one after the other and returns the codes of the replies.
  private func send(_ messages: [Message], honorsKeys: Bool = true) async throws -> (NoteBook, [Int]) {
    let book = NoteBook([note], honorsKeys: honorsKeys)
    let service = CatalogService(catalog: Catalog([]), notes: book)
    let base = try await service.start()
    let result: Result<[Int], any Error>
    do {
      var codes: [Int] = []
      for message in messages { codes.append(try await message.send(to: base)) }
      result = .success(codes)
    } catch { result = .failure(error) }
    await service.stop()
    return (book, try result.get())
  }
}

private struct Message {
  let method: String
  let path: String
  let body: Data?
  let key: Int?

  init(_ method: String, _ path: String, body: Data? = nil, key: Int?) {
    self.method = method
    self.path = path
    self.body = body
    self.key = key
  }

  static func patch(_ id: UUID, from old: String, to new: String, key: Int) -> Message {
    let change = NoteChange(base: NoteFields(text: old), values: NoteFields(text: new))
    return Message("PATCH", "notes/\(id)", body: try? JSONEncoder().encode(change), key: key)
  }

  func send(to base: URL) async throws -> Int {
    var request = URLRequest(url: try #require(URL(string: path, relativeTo: base)))
    request.httpMethod = method
    request.httpBody = body
    if let key {
      let text = "00000000-0000-4000-8000-00000000000\(key)"
      request.setValue(text, forHTTPHeaderField: "Idempotency-Key")
    }
    let (_, response) = try await URLSession.shared.data(for: request)
    return try #require(response as? HTTPURLResponse).statusCode
  }
}
