import CoherenceCore

/// The places of input records by key. Keys are not kept: a place that may be meant is asked for its key again.
struct MergeIndex {
  /// For each bucket a place, counted from 1, above the upper half of the key's hash; zero when it is free.
  private var buckets: [UInt64]
  private var scratch: [AttributeValue]
  private let input: any MergeInput

  init(_ input: any MergeInput, keyCount: Int) {
    self.input = input
    var size = 16
    while size < input.count * 2 { size *= 2 }
    buckets = Array(repeating: 0, count: size)
    scratch = Array(repeating: .null, count: keyCount)
  }

  /// The place of the record with that key.
  mutating func place(of key: [AttributeValue]) throws -> Int? {
    let hash = Self.hash(key)
    var bucket = Int(truncatingIfNeeded: hash) & (buckets.count - 1)
    while buckets[bucket] != 0 {
      if buckets[bucket] & 0xFFFF_FFFF == hash >> 32 {
        let place = Int(buckets[bucket] >> 32) - 1
        try input.readKey(place, into: &scratch)
        if scratch == key { return place }
      }
      bucket = (bucket + 1) & (buckets.count - 1)
    }
    return nil
  }

  /// Enters a record by its key, in the place of another one with the same key.
  ///
  /// - Returns: The other one's place.
  mutating func enter(_ place: Int, key: [AttributeValue], replacing: Bool) throws -> Int? {
    let hash = Self.hash(key)
    let entry = UInt64(place + 1) << 32 | hash >> 32
    var bucket = Int(truncatingIfNeeded: hash) & (buckets.count - 1)
    while buckets[bucket] != 0 {
      if buckets[bucket] & 0xFFFF_FFFF == hash >> 32 {
        let other = Int(buckets[bucket] >> 32) - 1
        try input.readKey(other, into: &scratch)
        if scratch == key {
          if replacing { buckets[bucket] = entry }
          return other
        }
      }
      bucket = (bucket + 1) & (buckets.count - 1)
    }
    buckets[bucket] = entry
    return nil
  }

  private static func hash(_ key: [AttributeValue]) -> UInt64 {
    var hasher = Hasher()
    for value in key { hasher.combine(value) }
    return UInt64(truncatingIfNeeded: hasher.finalize())
  }
}

/// A set of places, a bit each.
struct PlaceSet {
  private var words: [UInt64]
  private(set) var count = 0

  init(capacity: Int) { words = Array(repeating: 0, count: (capacity + 63) / 64) }

  func contains(_ place: Int) -> Bool { words[place / 64] & (1 << UInt64(place % 64)) != 0 }

  mutating func insert(_ place: Int) {
    guard !contains(place) else { return }
    words[place / 64] |= 1 << UInt64(place % 64)
    count += 1
  }

  mutating func remove(_ place: Int) {
    guard contains(place) else { return }
    words[place / 64] &= ~(1 << UInt64(place % 64))
    count -= 1
  }
}
