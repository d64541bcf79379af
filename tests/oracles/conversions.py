"""What conversions must give, bit by bit, as PyTorch and exact arithmetic compute them on CPU.

usage: python tests/oracles/conversions.py > tests/kernels/conversions.txt
needs: torch 2.15, numpy

Casts, block FP8 and the sums are PyTorch's own. It has no MXFP8 cast: scales come from exact
fractions, elements from its float8 cast of an exact quotient. -exp is rounded correctly from 60
digits, and PyTorch's F32 result is checked to be within an ulp of it.

A line is a test: its kind, then its numbers as hexadecimal digits. A NaN is written as the one the
project has. "block" lines: rule, source dtype, rows, columns, block rows, block columns, then a
seed (elements by the formula of `hashed`) or the elements, the scales, the values.
"""

import random
import struct
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy
import torch

SEED = 20
getcontext().prec = 60
MASK = (1 << 64) - 1


def f32(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def tensor_f32(bits):
    return torch.from_numpy(numpy.array(bits, dtype=numpy.uint32).view(numpy.float32))


def bits_of(tensor):
    """The bits of each element, NaNs as the project writes them."""
    size = tensor.element_size()
    raw = tensor.contiguous().view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[size]).numpy()
    numbers = raw.view({1: numpy.uint8, 2: numpy.uint16, 4: numpy.uint32}[size]).flatten().tolist()
    nan = {
        torch.float8_e4m3fn: 0x7F,
        torch.bfloat16: 0x7FC0,
        torch.float16: 0x7E00,
        torch.float32: 0x7FC00000,
    }[tensor.dtype]
    is_nan = torch.isnan(tensor.float()).flatten().tolist()
    return [nan if bad else number for number, bad in zip(numbers, is_nan)]


def digits(numbers, width):
    return "".join(f"{number:0{width}x}" for number in numbers)


def interesting(draw, count):
    """Bits of F32 numbers: special ones, ties of the narrower formats and their neighbours, any."""
    numbers = [0, 1, 0x007FFFFF, 0x00800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000]
    numbers += [0x7F800001, 0x7FFFFFFF, 0x43E00000, 0x43E80000, 0x43E80001, 0x43F00000, 0x477FE000]
    numbers += [0x477FEFFF, 0x477FF000, 0x7F7F7FFF, 0x7F7F8000, 0x33000000, 0x33000001, 0x32FFFFFF]
    for kept in (3, 7, 10):
        for _ in range(120):
            exponent = draw.choice([draw.randrange(0, 255), draw.randrange(100, 145)])
            fraction = draw.randrange(1 << kept) << (23 - kept) | 1 << (22 - kept)
            numbers += [(exponent << 23 | fraction) + step for step in (-1, 0, 1)]
    for exponent in range(96, 128):  # subnormals of E4M3 and F16: ties lie at other places
        for _ in range(12):
            fraction = draw.randrange(1 << 6) << 17
            numbers += [(exponent << 23 | fraction) + step for step in (0, 1)]
    while len(numbers) < count:
        numbers.append(draw.randrange(1 << 31))
    return [number | draw.randrange(2) << 31 for number in numbers]


def mix(value):
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


def hashed(seed, count):
    """BF16 numbers from about 2^-27 to 2^12 of either sign."""
    numbers = []
    for index in range(count):
        h = mix((seed * 0x9E3779B97F4A7C15 + index) & MASK)
        numbers.append(h & 0x807F | ((h >> 16) % 40 + 100) << 7)
    return numbers


def tensor_of(bits, dtype):
    if dtype == "F32":
        return tensor_f32(bits)
    raw = torch.from_numpy(numpy.array(bits, dtype=numpy.uint16).view(numpy.int16))
    return raw.view(torch.bfloat16 if dtype == "BF16" else torch.float16).float()


def blocks_of(x, block_rows, block_columns):
    """As [block row, row in it, block column, column in it], zeros at the edges."""
    rows = -x.shape[0] % block_rows
    columns = -x.shape[1] % block_columns
    padded = torch.nn.functional.pad(x, (0, columns, 0, rows))
    return padded.view(
        padded.shape[0] // block_rows, block_rows, padded.shape[1] // block_columns, block_columns
    )


def e8m0(rule, amax):
    """The scale byte of a block, by exact arithmetic but for the F32 quotient of rceil."""
    if amax != amax:
        return 255
    if amax == 0:
        return 0
    if amax == float("inf"):
        return 247 if rule == "floor" else 254
    if rule == "floor":
        value = Fraction(amax)
    else:
        value = Fraction(float(numpy.float32(amax) / numpy.float32(448)))
        if value == 0:
            return 0
    exponent = -400
    while Fraction(2) ** (exponent + 1) <= value:  # floor(log2(value))
        exponent += 1
    if rule == "floor":
        exponent -= 8
    elif Fraction(2) ** exponent < value:
        exponent += 1
    return min(max(exponent, -127), 127) + 127


def convert_blocks(rule, x, block_rows, block_columns):
    blocks = blocks_of(x, block_rows, block_columns)
    amax = blocks.abs().amax(dim=(1, 3))
    if rule == "amax":
        scale = amax / 448
        scale = torch.where(scale == 0, torch.ones_like(scale), scale)
        divisor = scale
        stored = digits(bits_of(scale), 8)
    else:
        codes = [e8m0(rule, value) for value in amax.flatten().tolist()]
        raw = torch.from_numpy(numpy.array(codes, dtype=numpy.uint8)).view(amax.shape)
        divisor = raw.view(torch.float8_e8m0fnu).float()
        # float() of byte 0 must be 2^-127.
        assert all(d == 2.0**-127 for d, c in zip(divisor.flatten().tolist(), codes) if c == 0)
        stored = digits(codes, 2)
    values = (blocks / divisor[:, None, :, None]).clamp(-448, 448).to(torch.float8_e4m3fn)
    rows, columns = x.shape
    flat = values.float().reshape(blocks.shape[0] * block_rows, -1)  # exact
    return stored, digits(bits_of(flat[:rows, :columns].to(torch.float8_e4m3fn)), 2)


def print_blocks(rule, dtype, shape, block, bits, seed=None):
    x = tensor_of(bits, dtype).view(shape)
    stored, values = convert_blocks(rule, x, *block)
    source = f"seed {seed}" if seed is not None else digits(bits, 8 if dtype == "F32" else 4)
    print("block", rule, dtype, *shape, *block, source, stored, values)


def block_cases(draw):
    for rule in ("amax", "floor", "rceil"):
        block = (128, 128) if rule == "amax" else (1, 32)
        shape = (130, 140) if rule == "amax" else (40, 140)
        print_blocks(rule, "BF16", shape, block, hashed(1, shape[0] * shape[1]), 1)
        for block in ((4, 8), (1, 32), (3, 5)):
            for dtype in ("BF16", "F32", "F16"):
                shape = (7, 75)
                width = 32 if dtype == "F32" else 16
                bits = []
                for row in range(shape[0]):
                    for column in range(shape[1]):
                        # Blocks of very different sizes, among them zeros, subnormals, infinities.
                        kind = (row // block[0] * 31 + column // block[1] * 7) % 13
                        number = draw.randrange(1 << width)
                        largest = {"BF16": 0x7F7F, "F32": 0x7F7FFFFF, "F16": 0x7BFF}[dtype]
                        sign = number & 1 << (width - 1)
                        if kind == 0:
                            number = sign
                        elif kind == 1:
                            number = sign | number & 0x7F  # subnormal
                        elif kind == 2 and draw.random() < 0.1:
                            number = sign | largest + 1  # infinity
                        elif kind == 3 and draw.random() < 0.1:
                            number = sign | largest + 2  # NaN
                        elif kind >= 9 and dtype != "F16":
                            exponent = draw.randrange(118, 132)
                            mantissa = 7 if dtype == "BF16" else 23
                            number = sign | exponent << mantissa | number & (1 << mantissa) - 1
                        else:
                            number = sign | min(number & (1 << (width - 1)) - 1, largest)
                        bits.append(number)
                print_blocks(rule, dtype, shape, block, bits)
        # Largest magnitudes at and beside the powers where a scale steps.
        bits = []
        for exponent in (1, 2, 8, 9, 10, 120, 127, 135, 253, 254):
            for fraction in (0, 0x5FFFFF, 0x600000, 0x600001, 0x7FFFFF):
                bits += [exponent << 23 | fraction, draw.randrange(exponent << 23)]
        print_blocks(rule, "F32", (len(bits) // 2, 2), (1, 2), bits)


def correctly_rounded_f32(value):
    """Bits of the F32 nearest to a positive Decimal, ties to even."""
    if value >= Decimal(2) ** 128:
        return 0x7F800000
    exact = Fraction(value)
    low, high = 0, 0x7F7FFFFF
    while low < high:  # the largest number that is not above
        middle = (low + high + 1) // 2
        if Fraction(f32(middle)) <= exact:
            low = middle
        else:
            high = middle - 1
    if low == 0x7F7FFFFF:
        largest_tie = Fraction(2) ** 128 - Fraction(2) ** 103
        return low if exact < largest_tie else 0x7F800000
    below = exact - Fraction(f32(low))
    above = Fraction(f32(low + 1)) - exact
    return low + (below > above or (below == above and low & 1 == 1))


def negative_exponential(bits):
    x = f32(bits)
    if x != x:
        return 0x7FC00000
    if x > 100:
        return 0xFF800000
    if x < -120:
        return 0x80000000
    return 0x80000000 | correctly_rounded_f32(Decimal(x).exp())


def main():
    draw = random.Random(SEED)
    print(f"# torch {torch.__version__}; tests/oracles/conversions.py made this file")
    numbers = interesting(draw, 2400)
    x = tensor_f32(numbers)
    print("to BF16", digits(numbers, 8), digits(bits_of(x.to(torch.bfloat16)), 4))
    print("to F16", digits(numbers, 8), digits(bits_of(x.to(torch.float16)), 4))
    clamped = x.clamp(-448, 448)
    print("to F8_E4M3", digits(numbers, 8), digits(bits_of(clamped.to(torch.float8_e4m3fn)), 2))

    # Each BF16 and F16 number widened, as a sum: a line of 65,536 would say little more.
    for dtype in ("BF16", "F16"):
        sample = [draw.randrange(1 << 16) for _ in range(1500)] + [1, 0x3FF, 0x7C00, 0x8001]
        print("from", dtype, digits(sample, 4), digits(bits_of(tensor_of(sample, dtype)), 8))

    sample = [draw.randrange(1 << 16) for _ in range(1500)]
    x = tensor_of(sample, "BF16")
    for word, change in (("plusOne", 1), ("minusOne", -1)):
        print(word, "BF16", digits(sample, 4), digits(bits_of((x + change).to(torch.bfloat16)), 4))
        few = numbers[:600:2] + numbers[-300:]
        print(word, "F32", digits(few, 8), digits(bits_of(tensor_f32(few) + change), 8))

    sample = [struct.unpack("<I", struct.pack("<f", draw.uniform(-110, 92)))[0] for _ in range(800)]
    sample += [struct.unpack("<I", struct.pack("<f", draw.uniform(-3, 3)))[0] for _ in range(800)]
    sample += [0, 1 << 31, 1, 0x42B17218, 0x42B17217, 0xC2CFF1B4, 0xC2CFF1B5, 0x7F800000, 0xFF800000]
    sample += [0x7FC00000] + [bits << 16 for bits in range(0, 1 << 16, 13)]
    expected = [negative_exponential(bits) for bits in sample]
    theirs = bits_of(-torch.exp(tensor_f32(sample)))
    farthest = max(abs(a - b) for a, b in zip(expected, theirs))
    assert farthest <= 1, farthest
    differing = sum(a != b for a, b in zip(expected, theirs))
    print(f"# -exp: {differing} of {len(sample)} differ from torch.exp, by an ulp")
    print("negativeExponential F32", digits(sample, 8), digits(expected, 8))
    block_cases(draw)


main()
