import CoherenceCore
import CoherenceMapping
import TestSupport
import Testing

/// A place whose decoding notes the replies of its decoder.
private struct Place: Sendable, Hashable {
  var id: Int
  var name: String
  var nickname: String?
  var latitude: Double?
  var longitude: Double?
  var replies: [String] = []
}

extension Place: Codable {
  private enum Keys: String, CodingKey { case id, name, nickname, position, note }
  private enum PositionKeys: String, CodingKey { case latitude, longitude }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Keys.self)
    id = try container.decode(Int.self, forKey: .id)
    name = try container.decode(String.self, forKey: .name)
    nickname = try container.decodeIfPresent(String.self, forKey: .nickname)
    let position = try container.nestedContainer(keyedBy: PositionKeys.self, forKey: .position)
    latitude = try position.decodeIfPresent(Double.self, forKey: .latitude)
    longitude = try position.decodeIfPresent(Double.self, forKey: .longitude)
    replies = [
      container.allKeys.map(\.rawValue).sorted().joined(separator: " "),
      "\(container.contains(.position)) \(container.contains(.note))",
      "\(try container.decodeNil(forKey: .nickname)) \(try container.decodeNil(forKey: .position))",
    ]
    let whole = try container.superDecoder().container(keyedBy: Keys.self)
    replies.append(try whole.decode(String.self, forKey: .name))
    let part = try container.superDecoder(forKey: .position).container(keyedBy: PositionKeys.self)
    replies.append("\(try part.decodeIfPresent(Double.self, forKey: .longitude) ?? 0)")
    let refusals = [
      Self.isRefused { _ = try container.decodeNil(forKey: .note) },
      Self.isRefused { _ = try container.nestedContainer(keyedBy: PositionKeys.self, forKey: .name) },
      Self.isRefused { _ = try container.nestedUnkeyedContainer(forKey: .name) },
      Self.isRefused { _ = try decoder.singleValueContainer() },
      Self.isRefused { _ = try decoder.unkeyedContainer() },
    ]
    replies.append("\(refusals.count { $0 }) refusals")
  }

  private static func isRefused(_ body: () throws -> Void) -> Bool {
    do {
      try body()
      return false
    } catch {
      return error is DecodingError
    }
  }

  func encode(to encoder: any Encoder) {}
}

@Suite("Decoders of models with decoding of their own")
struct CustomDecodingTests {
  private static let mapping = Mapping<Place>("Place", uid: \.id) {
    Field("id", \.id)
    Field("name", \.name)
    Field("nickname", \.nickname)
    Field("latitude", \.latitude, codingKey: "position.latitude")
    Field("longitude", \.longitude, codingKey: "position.longitude")
  }

  @Test(arguments: Backend.available)
  func `a decoder replies about the keys, the missing values and the parts of a record`(backend: Backend) throws {
    let stack = try MappingStack(backend, model: ManagedObjectModel { Self.mapping })
    let places = [
      Place(id: 1, name: "one"), Place(id: 2, name: "two", nickname: "2", longitude: 1.5),
      Place(id: 3, name: "three", latitude: 2, longitude: 3),
    ]
    try stack.manager.save(Self.mapping, models: places, shouldOverwrite: true)
    let found = try stack.manager.fetchModels(Self.mapping, sort: [Self.mapping.order(\.id)])
    let keys = "id name nickname position"
    #expect(
      found.map(\.replies) == [
        [keys, "true false", "true true", "one", "0.0", "5 refusals"],
        [keys, "true false", "false false", "two", "1.5", "5 refusals"],
        [keys, "true false", "true false", "three", "3.0", "5 refusals"],
      ])
    #expect(found.map(\.nickname) == [nil, "2", nil])
    #expect(found.map(\.latitude) == [nil, nil, 2])
    #expect(found.map(\.longitude) == [nil, 1.5, 3])
  }
}
