/// A generator of random numbers whose whole state is one seed, so that a seed replays everything made with it.
struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }

  // The methods below replace methods of the standard library, which may use a generator differently in another
  // release.

  mutating func number(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(next() % UInt64(range.upperBound - range.lowerBound + 1))
  }

  /// Returns `true` with a probability in percent.
  mutating func chance(_ percent: Int) -> Bool { number(0...99) < percent }

  /// A random element of a nonempty collection.
  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[number(0...(elements.count - 1))] }

  /// Returns random elements of a collection up to a number, each at most once, in random order.
  mutating func some<Element>(_ elements: [Element], upTo limit: Int) -> [Element] {
    var rest = elements
    var result: [Element] = []
    for _ in 0..<number(0...max(0, min(limit, elements.count))) {
      result.append(rest.remove(at: number(0...(rest.count - 1))))
    }
    return result
  }

  /// Returns a random element, with a probability in proportion to its weight.
  mutating func weighted<Element>(_ choices: [(weight: Int, element: Element)]) -> Element {
    var rest = number(0...(choices.reduce(0) { $0 + $1.weight } - 1))
    for (weight, element) in choices {
      if rest < weight { return element }
      rest -= weight
    }
    return choices[choices.count - 1].element
  }
}
