import CoherenceCore
import CoherenceOutbox
import Foundation
import Synchronization
import TestSupport
import Testing

/// Parts of composites, and values whose stored form differs from their type, from the save to the acknowledgement.
@Suite("Structured values on their way to the server", .timeLimit(.minutes(15)))
struct StructuredValueTests {
  private static let id = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
  private static let price = Decimal(sign: .plus, exponent: -2, significand: 1999)
  private static let tags = #"["a","b"]"#
  private static let values: [String: AttributeValue] = [
    "id": .uuid(id), "size.width": .double(1.5), "size.unit": .string("cm"), "price": .decimal(price),
    "sent": Date(timeIntervalSince1970: 1.25).attributeValue, "link": .string("https://example.org/a"),
    "tags": .string(tags), "weight": .double(Double(Float(0.1))),
  ]

  private func stack(_ backend: Backend) throws -> OutboxStack {
    let model = try ManagedObjectModel {
      Entity("Parcel", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .uuid)
        CompositeAttribute(
          "size",
          parts: [Attribute("width", .double, optional: true), Attribute("unit", .string, optional: true)])
        Attribute("price", .decimal, optional: true)
        Attribute("sent", .date, optional: true)
        Attribute("link", .url, optional: true)
        Attribute("tags", .codable, optional: true)
        Attribute("weight", .float, optional: true)
      }
    }.addingOutbox()
    return try OutboxStack(on: backend, model: model, entities: ["Parcel"])
  }

  private func change(_ values: [String: AttributeValue], _ stack: OutboxStack) throws {
    try stack.save { context in
      let stored = try context.fetch(FetchRequest<ManagedObject>(entityName: "Parcel")).first
      let parcel = try stored ?? context.insertNewObject(forEntityName: "Parcel")
      for (name, value) in values { try parcel.setAttributeValue(value, for: name) }
    }
  }

  private func storedValues(_ stack: OutboxStack) throws -> [String: AttributeValue] {
    try stack.save { context in
      let parcel = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Parcel")).first)
      return try Self.values.keys.reduce(into: [String: AttributeValue]()) { $0[$1] = try parcel.value(for: $1) }
    }
  }

  @Test(arguments: Backend.available)
  func `an insert is sent with the values of every type, and equal values in the reply change nothing`(
    backend: Backend
  ) async throws {
    let stack = try stack(backend)
    let received = Mutex<[[String: AttributeValue]]>([])
    try stack.outbox.forward("Parcel") { handlers in
      handlers.insert { request in
        received.withLock { $0.append(request.values) }
        return .accepted([
          "size.width": 1.5, "price": Self.price, "weight": Float(0.1), "link": "https://example.org/a",
        ])
      }
    }
    try change(Self.values, stack)
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(received.withLock { $0 } == [Self.values])
    #expect(try storedValues(stack) == Self.values)
    #expect(try await stack.outbox.entries().isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a conflict over a part of a composite is resolved by a chosen value, which is sent with the edit`(
    backend: Backend
  ) async throws {
    let stack = try stack(backend)
    let received = Mutex<[[String: AttributeValue]]>([])
    try stack.outbox.forward("Parcel") { handlers in
      handlers.insert { _ in .accepted }
      handlers.update { request in
        received.withLock { $0 += [request.base, request.values] }
        if request.base["size.width"] == .double(9) { return .accepted }
        return .conflict(["size.width": 9.0, "price": Decimal(7)])
      }
    }
    try change(Self.values, stack)
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 0)
    try change(["size.width": .double(2), "price": .decimal(Decimal(6))], stack)
    #expect(try await stack.outbox.flush() == 1)
    await stack.outbox.stop()
    let conflict = try #require(try await stack.outbox.conflicts().first)
    #expect(conflict.properties.map(\.name) == ["price", "size.width"])
    try await stack.outbox.resolve(conflict.id, keeping: .values(["size.width": 2.5]))
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    let requests: [[String: AttributeValue]] = [
      ["size.width": .double(1.5), "price": .decimal(Self.price)],
      ["size.width": .double(2), "price": .decimal(Decimal(6))],
      ["size.width": .double(9), "price": .decimal(Decimal(7))],
      ["size.width": .double(2.5), "price": .decimal(Decimal(6))],
    ]
    #expect(received.withLock { $0 } == requests)
    #expect(try storedValues(stack)["size.width"] == .double(2.5))
    #expect(try storedValues(stack)["size.unit"] == .string("cm"))
  }
}
